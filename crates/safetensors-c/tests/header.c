/* The header in every standard of C and C++, with all of its macros. */
#include <safetensors.h>

#define DIMS 3, 8

static const sft_request TABLE[] = {
    SFT_REQUIRED("a", SFT_I8 | SFT_U8, 2, DIMS),
    SFT_REQUIRED("b", SFT_ANY_DTYPE, SFT_ANY_RANK, 0),
    SFT_OPTIONAL("c", SFT_F32, 1, SFT_ANY_SIZE),
    SFT_OPTIONAL("d", SFT_U64, 8, 1, 2, 3, 4, 5, 6, 7, 8),
    SFT_REQUIRED("e", SFT_I64, 0, 0),
};

typedef char error_has_64_bytes[sizeof(sft_error) == 64 ? 1 : -1];
typedef char tensor_has_128_bytes[sizeof(sft_tensor) == 128 ? 1 : -1];
typedef char slot_has_24_bytes[sizeof(sft_slot) == 24 ? 1 : -1];
typedef char model_has_its_words[sizeof(sft_model) == 8 * SFT_MODEL_WORDS ? 1 : -1];

int main(void)
{
    const sft_request one = SFT_REQUIRED("x", SFT_F32, 1, 2);
    const sft_storage storage = sft_memory("", 0);
    const sft_storage callbacks = sft_callbacks(NULL, NULL, 1, SFT_LEN_AT_MOST);
    uint64_t memory[SFT_RECORDER_MEMORY(1, 1)] = { 0 };
    sft_model model;
    sft_tensor tensors[5];
    sft_error error;
    unsigned char window[1];
    error_has_64_bytes *a = NULL;
    tensor_has_128_bytes *b = NULL;
    slot_has_24_bytes *c = NULL;
    model_has_its_words *d = NULL;
    return one.rank == 1 && one.shape[0] == 2 && TABLE[0].shape[1] == 8 && TABLE[2].optional == 1
            && TABLE[3].shape[7] == 8 && callbacks.len_is == SFT_LEN_AT_MOST && memory[0] == 0 && a == NULL
            && b == NULL && c == NULL && d == NULL
            && sft_open(&model, &storage, TABLE, tensors, 5, window, sizeof window, &error) == SFT_FILE
        ? 0
        : 1;
}
