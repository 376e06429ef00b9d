/* Judges a pack. First the models that are not the one that a program expects, by each way to read a model. For each that
 * was rejected it prints `rejected: WHAT: TENSOR: SENTENCE`, for each that was not `wrong: …`, and at the end
 * `wrong models: N rejected, N read, N failed`.
 *
 * Then the vectors: it prints what the library says of each, for a program that compares it with the manifest. No heap and
 * no stdio: devices run it, too.
 *
 *     vector ID
 *      open VERDICT          sft_open
 *      slots VERDICT         sft_open_unordered
 *      names VERDICT         sft_validate_names, if the model is open
 *      tensor NAME DTYPE RANK DIM… OFFSET BYTES ELEMENTS
 *      listed VERDICT        sft_for_each
 *      bytes NUMBER SUM      sft_read_bytes of all of a tensor, of the first ones
 *      value KEY VALUE       sft_metadata; `?` if the key is missing, `!` if it is c.nul
 *      find VERDICT          sft_find of the first tensor as it was listed
 *      pushed VERDICT        sft_receiver_push of pieces, and sft_receiver_end
 *      target SUM            of the bytes of the first tensor that were received, if it is small
 *
 * A VERDICT is `ok`, or `error STATUS CODE AT`. Names, keys and values are hexadecimal, `-` if empty. A SUM is the
 * 32-bit FNV-1a of bytes. */
#ifndef JUDGE_H
#define JUDGE_H

#include "pack.h"
#include "print.h"

/* What the judge works in. */
typedef struct judge_memory {
    uint8_t *window;
    size_t window_len;
    /* For the longest name, and the longest value. */
    char *text;
    size_t text_len;
    sft_slot *slots;
    size_t slot_count;
    /* For the tensors whose bytes are read; at least 1. */
    sft_tensor *tensors;
    size_t tensor_count;
} judge_memory;

/* Judges the models of a pack. Returns 0 if it was read and nothing failed. About 2 KB of stack. */
int judge_wrong_models(print_to to, const sft_storage *pack_storage);

/* Judges a pack; vectors above 64 KiB in `large`. Returns what a program ends with. */
int judge_pack(print_to to, const sft_storage *pack_storage, const judge_memory *large);

#endif
