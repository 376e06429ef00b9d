# Scores a reader whose answers are in planned.json with the package $2: $1 says how. The examples of README.md are its tests.
# The runner of the archive comes first and writes known.txt: all packages must agree with it.
example() { sed -n "\,^\`\`\`$1 $2\$,,\,^\`\`\`\$,p" ../README.md | sed '1d;$d' > "$2"; test -s "$2"; }
# With another file of known answers, the command fails and names what differs.
differs() {
    cp known.txt kept.txt
    sed -i '/^after-brace:/d; s/^dtype-all: wrong/dtype-all: crash/; s/^suite: .*/suite: 0.1/; $a entry-object: wrong' known.txt
    if "$@" > said 2>&1; then echo "nothing differs"; exit 1; fi
    grep -q 'the expected answers are of suite 0.1, the vectors are of ' said
    printf 'newly %s\n' 'right: entry-object was wrong' 'wrong: after-brace was right' 'wrong: dtype-all was crash' > news
    grep -o 'newly [a-z ]*: [a-z0-9-]* was [a-z ]*' said | LC_ALL=C sort -u | diff - news && mv kept.txt known.txt
}
archive() {
    python3 -m zipfile -e "$1" . && mv safetensors-conformance-*/ suite
    cat > my_reader.py <<'END'
import hashlib, json, pathlib, sys
PLANNED = json.loads(pathlib.Path(__file__).with_name("planned.json").read_bytes())
class Invalid(Exception): pass
def read(path):
    said = PLANNED[hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()]
    if said == "crash": raise RuntimeError(said)
    if "error" in said: raise Invalid(said["error"])
    return said
for line in sys.stdin if __name__ == "__main__" else ():
    try: print(json.dumps(read(line.rstrip("\n"))), flush=True)
    except Invalid as error: print(json.dumps({"error": str(error)}), flush=True)
END
    score="python3 suite/run.py --batch"
    $score --write-expect known.txt --badge badge.svg -- python3 my_reader.py > said
    grep -q '^not right: wrong 6, not shown [1-9][0-9]*, crash 2, bad output 1$' said && grep -q '<title>.* of ' badge.svg
    differs $score --expect known.txt --filter after-brace --filter dtype-all --filter entry-object -- python3 my_reader.py
}
wheel() {
    python3 -m venv env && env/bin/pip install --quiet --no-compile pytest "$1" && cp ../archive/my_reader.py . && example python test_my_reader.py
    env/bin/python -m pytest -q test_my_reader.py
    differs env/bin/python -m pytest -q test_my_reader.py -k "after-brace or dtype-all or entry-object"
}
npm() {
    command npm install --silent "$1" && example js my-reader.test.mjs
    cat > my-reader.mjs <<'END'
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
const planned = JSON.parse(readFileSync("../planned.json"));
export class Invalid extends Error {}
export function read(bytes) {
  const said = planned[createHash("sha256").update(bytes).digest("hex")];
  if (said === "crash") throw new Error(said);
  if (said.error) throw new Invalid(said.error);
  return said;
}
END
    node --test my-reader.test.mjs > said
    differs node --test --test-reporter=tap --test-name-pattern="^(after-brace|dtype-all|entry-object)$" my-reader.test.mjs
}
crate() {
    mkdir -p src tests && tar -xzf "$1" && example rust tests/conformance.rs
    printf '[package]\nname = "my-reader"\nedition = "2021"\n[dependencies]\nserde_json = "1"\n' > Cargo.toml
    printf 'safetensors-conformance = { path = "%s" }\n' safetensors-conformance-*/ >> Cargo.toml
    cat > src/lib.rs <<'END'
pub fn read(bytes: &[u8]) -> Result<serde_json::Value, String> {
    static PLANNED: std::sync::OnceLock<serde_json::Value> = std::sync::OnceLock::new();
    let planned = || serde_json::from_slice(&std::fs::read("../planned.json").unwrap()).unwrap();
    let said = &PLANNED.get_or_init(planned)[safetensors_conformance::sha256(bytes)];
    assert_ne!(said, "crash");
    said["error"].as_str().map_or(Ok(said.clone()), |error| Err(error.to_owned()))
}
END
    cargo test --quiet --test conformance
    differs cargo test --quiet --test conformance
}
mkdir "$1" && cd "$1" && ln -sf ../planned.json . && test "$1" = archive || cp ../archive/known.txt .
"$@"
