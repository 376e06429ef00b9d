"""Trains the random forest of the firmware: pip install safetensors==0.8.0 scikit-learn==1.9.1

Each row is a tree. Children come after their node; 0 is no child, and the path ends at the node. Each leaf has training
images of one digit only, so the digit with the most votes is the one that `predict` returns.
"""

import numpy as np
from safetensors.numpy import save_file
from sklearn.ensemble import RandomForestClassifier

from dataset import CARRIED, parts
from models import FOLDER

training, (images, labels) = parts()
forest = RandomForestClassifier(12, max_features=16, random_state=1).fit(*training)
predictions = forest.predict(images)
tensors = {name: np.zeros((12, 300), np.uint8) for name in ("pixel", "threshold", "digit")}
tensors |= {"children": np.zeros((12, 300, 2), np.uint16), "predictions": predictions[:CARRIED]}
for row, tree in enumerate(each.tree_ for each in forest):
    assert (tree.value[tree.feature < 0].max(axis=2) == 1).all()
    nodes = slice(tree.node_count)
    tensors["pixel"][row, nodes] = np.maximum(tree.feature, 0)
    tensors["threshold"][row, nodes] = np.maximum(tree.threshold, 0)  # pixels are integers, so fractions are dropped
    tensors["children"][row, nodes] = np.maximum([tree.children_left, tree.children_right], 0).T
    tensors["digit"][row, nodes] = tree.value[:, 0].argmax(axis=1)
about = f"a forest of scikit-learn: {(predictions == labels).sum()} of {len(labels)} held-out images right"
save_file(tensors, FOLDER / "digits-forest.safetensors", {"description": about})
