/* The frame of all programs in C: it runs a job, and prints its costs as `name=value`, one on each line. It is the
 * frame of the programs in Rust, with the same requests, devices and linker scripts. */
#ifndef FRAME_H
#define FRAME_H

#include <safetensors.h>

/* How far a job runs: the model is opened; a tensor is found, too; the entire job is done. */
enum step { OPEN, FIND, ALL };

#define FAILED UINT32_MAX

/* A model, and a tensor of it to find and to read. */
struct job {
    const uint8_t *file;
    size_t len;
    const char *name;
    /* The window, or buffer, for reads. */
    uint8_t *window;
    size_t window_len;
    enum step last;
};

/* Does the job, and returns the number of tensors or bytes, or FAILED. Each program has its own. */
uint32_t task(const struct job *job);

/* A card with the job's file, as a storage. */
sft_storage insert_card(const struct job *job);

/* Requests any tensor of this name. Without dimensions, which need not be set: clearing them would link memset. */
static inline sft_request request_any(const char *name)
{
    sft_request request;
    request.name = name;
    request.dtypes = SFT_ANY_DTYPE;
    request.rank = SFT_ANY_RANK;
    request.optional = 0;
    return request;
}

/* Opens the model on the card and finds a tensor. These functions are inlined, so that they use no stack of their
 * own. */
static inline sft_status open_with(sft_model *model, const struct job *job, const sft_request *request,
                                   sft_tensor *tensor, sft_error *error)
{
    const sft_storage card = insert_card(job);
    return sft_open(model, &card, request, tensor, request != NULL, job->window, job->window_len, error);
}

/* Opens the model on the card. */
static inline sft_status open_model(sft_model *model, const struct job *job, sft_error *error)
{
    return open_with(model, job, NULL, NULL, error);
}

/* Reads all of a tensor, chunk by chunk. */
static inline uint32_t stream(sft_model *model, const sft_tensor *tensor, const struct job *job, sft_error *error)
{
    uint32_t done = 0;
    while (done < tensor->bytes) {
        uint64_t left = tensor->bytes - done;
        size_t len = left < job->window_len ? (size_t)left : job->window_len;
        if (sft_read_bytes(model, tensor, done, job->window, len, error) != SFT_OK) {
            return FAILED;
        }
        done += len;
    }
    return done;
}

/* Prints a text without its final 0, or a figure. */
void print(const char *text, size_t len);
void figure(const char *name, uint32_t value);

#endif
