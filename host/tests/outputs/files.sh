# Files beside the models of `models`, made in an empty directory.
put() {
    printf "$2" > "$1"
}
index() {
    echo "{\"metadata\":{\"total_size\":$2},\"weight_map\":{\"a\":\"$3\",\"b\":\"m-00002-of-00002.safetensors\"}}" > "$1"
}

# Each run reads all files: only small ones.
rm -r firmware
cp kws.safetensors digits.safetensors
mkdir empty-dir bad lite
put none '\2\0\0\0\0\0\0\0{}'
put plain '\65\0\0\0\0\0\0\0{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}ab'
put padded '\6\0\0\0\0\0\0\0{}   \n'
put mlx/config.json '{"quantization":{"group_size":64,"bits":4}}'
put order.txt 'b\na\n'
put notes.txt 'notes\n'

first=m-00001-of-00002.safetensors
index sharded/m.safetensors.index.json 18 $first
index sharded/total.index.json 17 $first
index sharded/swapped.index.json 18 m-00002-of-00002.safetensors
index shards/m.safetensors.index.json 18 $first
index wrong/out.index.json 18 ../tiny
put wrong/text.index.json '{"weight_map":[]}'

put evil.pkl '\200\2cos\nsystem\nX\2\0\0\0ls\205R.'
put cut.pkl '\200\2cos\nsys'
put fine.pkl '\200\2ccollections\nOrderedDict\n)R.'

head -c 100 tiny > bad/short
cat tiny order.txt > bad/long
head -c 30 tiny > bad/half
head -c 64 /dev/zero > bad/zeros
put bad/empty ''
put bad/page '<!DOCTYPE html><p>Log in'
put bad/bom '\5\0\0\0\0\0\0\0\357\273\277{}'
put bad/lfs 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n'
put bad/wide '\101\0\0\0\0\0\0\0{"漢字\\u001b":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}}abcde'
cp model.gguf bad/gguf
cp model.pt bad/pt
cp fine.pkl bad/pickle
cp torn.safetensors bad/hole

cp "$CARGO_MANIFEST_DIR"/../tests/structures/files/* schema
put equal '\345\0\0\0\0\0\0\0{"a":{"dtype":"F32","shape":[16],"data_offsets":[0,64]},"b":{"dtype":"F32","shape":[16],"data_offsets":[64,128]},"c":{"dtype":"F32","shape":[16],"data_offsets":[128,192]},"d":{"dtype":"F32","shape":[16],"data_offsets":[192,256]}}'
head -c 256 /dev/zero >> equal
put spaced '\3\0\0\0\0\0\0\0 {}'
put tabbed '\3\0\0\0\0\0\0\0{}\t'
put roomy '\42\47\0\0\0\0\0\0{}'
printf '%10000s' '' >> roomy
put packed/config.json '{'
index both/m.safetensors.index.json 2 m-00001-of-00001.safetensors
index two.index.json 2 two.index.json
put dup.txt 'a\na\n'
