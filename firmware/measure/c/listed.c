/* Opens a model and lists its tensors. */
#include "frame.h"

static void add_bytes(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    (void)name;
    (void)name_len;
    *(uint32_t *)context += (uint32_t)tensor->bytes;
}

uint32_t task(const struct job *job)
{
    sft_model model;
    sft_error error;
    char name[64];
    uint32_t bytes = 0;
    if (open_model(&model, job, &error) != SFT_OK
        || sft_for_each(&model, add_bytes, &bytes, name, sizeof name, job->window, job->window_len, &error)
               != SFT_OK) {
        return FAILED;
    }
    return bytes;
}
