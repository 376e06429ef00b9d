# Installs the npm package into an empty project, and runs the README's example. It needs Node 20, and no Rust.
set -e; dir=$(dirname "$0")/npm
npm install --silent --no-audit --no-fund "$dir"/embedded-safetensors-*.tgz
printf '\070\0\0\0\0\0\0\0{"bias":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}abc' > model.safetensors
sed -n '/^```js/,/^```/{/^```/d;p}' node_modules/embedded-safetensors/README.md > example.mjs
node example.mjs | tee said; grep -q 'bias U8 3' said
