/* Judges the vectors: prints what the library says of a file, for a program that compares it with the manifest. No
 * heap and no stdio: devices run it, too.
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

/* Judges the vector of a record, and prints what is said above. */
void judge_vector(print_to to, pack_record *record, const judge_memory *memory);

#endif
