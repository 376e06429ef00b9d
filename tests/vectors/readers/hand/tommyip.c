/* tommyip/libsafetensors: a mapped file. Names are those between the quotes of the header. */
#include "safetensors.h"
#include "hand.h"

static const char *const NAMES[] = {"BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "F64", "I64", "U64"};

int main(void) {
  for (char path[4096]; next(path);) {
    st_ctx *file = st_open(path);
    for (st_tensor *t; file && (t = st_next_tensor(file));) {
      words("tensor", t->name.string, t->name.len, NAMES[t->dtype], strlen(NAMES[t->dtype])), putchar(' ');
      for (size_t i = 0; i < t->shape_len; i++) printf(i ? ",%llu" : "%llu", (unsigned long long)t->shape[i]);
      word(t->data, t->data_len), putchar('\n');
    }
    for (st_metadata *m; file && (m = st_next_metadata(file));)
      words("metadata", m->name.string, m->name.len, m->value.string, m->value.len), putchar('\n');
    file ? (void)puts("ok") : error("st_open returned NULL");
    if (file) st_close(file);
  }
}
