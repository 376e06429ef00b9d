/* hsnyder/safetensors.h: the file in memory, as it asks for. Names are those between the quotes of the header. */
#define SAFETENSORS_IMPLEMENTATION
#include "safetensors.h"
#include "hand.h"

static const char *const NAMES[] = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL"};

int main(void) {
  for (char path[4096]; next(path);) {
    FILE *file = fopen(path, "rb");
    if (!file) {
      error("the file cannot be opened");
      continue;
    }
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *bytes = malloc(size);
    rewind(file);
    size = fread(bytes, 1, size, file);
    fclose(file);
    safetensors_File found;
    const char *why = safetensors_file_init(bytes, size, &found);
    for (safetensors_TensorDescriptor *t = found.tensors; !why && t < found.tensors + found.num_tensors; t++) {
      words("tensor", t->name.ptr, t->name.len, NAMES[t->dtype], strlen(NAMES[t->dtype])), putchar(' ');
      for (int i = 0; i < t->n_dimensions; i++) printf(i ? ",%lld" : "%lld", (long long)t->shape[i]);
      word(t->ptr, t->end_offset_bytes - t->begin_offset_bytes), putchar('\n');
    }
    for (safetensors_MetadataEntry *m = found.metadata; !why && m < found.metadata + found.num_metadata; m++)
      words("metadata", m->name.ptr, m->name.len, m->value.ptr, m->value.len), putchar('\n');
    why ? error(why) : (void)puts("ok");
    if (!why) free(found.tensors), free(found.metadata);
    free(bytes);
  }
}
