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

/* The bytes of a type with pointers of 64 bits, of 32 bits, and on 32-bit x86, which aligns uint64_t to 4. */
#if UINTPTR_MAX > 0xFFFFFFFFu
#define HAS_BYTES(type, on_64, on_32, on_x86) HAS(type, on_64)
#elif defined(__i386__)
#define HAS_BYTES(type, on_64, on_32, on_x86) HAS(type, on_x86)
#else
#define HAS_BYTES(type, on_64, on_32, on_x86) HAS(type, on_32)
#endif
#define HAS(type, bytes) typedef char type##_has_its_size[sizeof(type) == (bytes) ? 1 : -1]

HAS_BYTES(sft_request, 80, 80, 76);
HAS_BYTES(sft_spec, 80, 80, 76);
HAS_BYTES(sft_pair, 16, 8, 8);
HAS_BYTES(sft_storage, 32, 24, 20);
HAS_BYTES(sft_sink, 48, 32, 28);
HAS_BYTES(sft_tensor, 128, 128, 128);
HAS_BYTES(sft_slot, 24, 24, 24);
HAS_BYTES(sft_error, 64, 64, 64);
HAS_BYTES(sft_flash, 48, 28, 28);
HAS_BYTES(sft_installed, 64, 56, 56);
HAS(sft_status, 4);
HAS(sft_model, 8 * SFT_MODEL_WORDS);
HAS(sft_target, 8 * SFT_TARGET_WORDS);
HAS(sft_receiver, 8 * SFT_RECEIVER_WORDS);
HAS(sft_recorder, 8 * SFT_RECORDER_WORDS);
HAS(sft_file_receiver, 8 * SFT_FILE_RECEIVER_WORDS);
HAS(sft_verifier, 8 * SFT_VERIFIER_WORDS);
HAS(sft_slots, 8 * SFT_SLOTS_WORDS);

/* The functions with types that a caller's would be converted to without a warning. */
static uint64_t (*remaining)(sft_receiver *) = sft_receiver_remaining;
static sft_status (*verify)(sft_model *, uint32_t, void *, size_t, sft_error *) = sft_verify_crc32;

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
    return one.rank == 1 && one.shape[0] == 2 && TABLE[0].shape[1] == 8 && TABLE[2].optional == 1
            && TABLE[3].shape[7] == 8 && callbacks.len_is == SFT_LEN_AT_MOST && memory[0] == 0 && remaining && verify
            && sft_open(&model, &storage, TABLE, tensors, 5, window, sizeof window, &error) == SFT_FILE
        ? 0
        : 1;
}
