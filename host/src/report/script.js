"use strict";
// Only adds a filter and two buttons: everything is readable without.
const tree = document.getElementById("tree"), tools = document.createElement("div");
const add = (tag, properties) => tools.appendChild(Object.assign(document.createElement(tag), properties));
const groups = () => tree.querySelectorAll("details");
tools.className = "tools";
const filter = add("input", { type: "search", placeholder: "Filter tensors by name" });
filter.setAttribute("aria-label", "Filter tensors by name");
add("button", { type: "button", textContent: "Unfold all", onclick: () => groups().forEach((group) => (group.open = true)) });
add("button", { type: "button", textContent: "Fold all", onclick: () => groups().forEach((group) => (group.open = false)) });
filter.oninput = () => {
  const wanted = filter.value.toLowerCase();
  tree.querySelectorAll(".t").forEach((row) => (row.hidden = !row.title.toLowerCase().includes(wanted)));
  // From the innermost group outwards.
  [...groups()].reverse().forEach((group) => {
    group.hidden = ![...group.children].some((child) => child.tagName !== "SUMMARY" && !child.hidden);
    if (wanted) group.open = true;
  });
};
if (tree) tree.before(tools);
