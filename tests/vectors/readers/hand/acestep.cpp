// ServeurpersoCom/acestep.cpp, src/safetensors.h: a mapped file. Names are those between the quotes of the header.
#include "safetensors.h"
#include "hand.h"

int main() {
  for (char path[4096]; next(path);) {
    STFile file;
    bool is_open = st_open(&file, path);
    for (const STEntry &t : file.entries) {
      if (!is_open) break;
      words("tensor", t.name.data(), t.name.size(), t.dtype.data(), t.dtype.size()), putchar(' ');
      for (int i = 0; i < t.n_dims; i++) printf(i ? ",%lld" : "%lld", (long long)t.shape[i]);
      word(st_data(file, t), t.data_end - t.data_start), putchar('\n');
    }
    is_open ? (void)puts("ok") : error("st_open returned false");
    if (is_open) st_close(&file);
  }
}
