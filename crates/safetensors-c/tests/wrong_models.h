/* Gives models that are not the one that a program expects to the functions that a program reads models with. */
#ifndef WRONG_MODELS_H
#define WRONG_MODELS_H

#include "pack.h"
#include "print.h"

/* How many models there were. */
typedef struct wrong_models {
    /* Rejected as expected by every function. */
    uint32_t rejected;
    /* The right one, read by every function. */
    uint32_t read;
    /* Each has a line `wrong: …` that says what happened. */
    uint32_t failed;
} wrong_models;

/* Judges the models of a pack. For each that was rejected it prints `rejected: WHAT: TENSOR: SENTENCE`, at the end
 * `wrong models: N rejected, N read, N failed`. Returns 0 if the pack was read and nothing failed.
 * It needs no heap; about 2 KB of stack. */
int judge_wrong_models(print_to to, const sft_storage *pack_storage, wrong_models *result);

#endif
