/* syoyo/safetensors-cpp: csafetensors_load_from_file, and csafetensors_validate, as its page asks for. */
#include "csafetensors.h"
#include "hand.h"

int main(void) {
  for (char path[4096]; next(path);) {
    csafetensors_t file;
    int is_loaded = !csafetensors_load_from_file(path, &file), is_right = is_loaded && csafetensors_validate(&file);
    for (csafetensors_tensor_t *t = file.tensors; is_right && t < file.tensors + file.n_tensors; t++) {
      const char *dtype = csafetensors_dtype_name(t->dtype);
      words("tensor", t->name, strlen(t->name), dtype, strlen(dtype)), putchar(' ');
      for (size_t i = 0; i < t->n_dims; i++) printf(i ? ",%zu" : "%zu", t->shape[i]);
      word(csafetensors_get_tensor_data(&file, t), t->data_offset_end - t->data_offset_begin), putchar('\n');
    }
    for (csafetensors_metadata_t *m = file.metadata; is_right && m < file.metadata + file.n_metadata; m++)
      words("metadata", m->key, strlen(m->key), m->value, strlen(m->value)), putchar('\n');
    is_right ? (void)puts("ok") : error(csafetensors_get_error(&file));
    if (is_loaded) csafetensors_free(&file);
  }
}
