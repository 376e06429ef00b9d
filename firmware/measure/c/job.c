/* Opens a model on a card, which validates it, finds a tensor, and streams it. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    const sft_request request = request_any(job->name);
    sft_model model;
    sft_tensor tensor;
    sft_error error;

    if (open_model(&model, job, &error) != SFT_OK) {
        return FAILED;
    }
    if (job->last == OPEN) {
        return 0;
    }
    if (sft_find(&model, &request, &tensor, 1, job->window, job->window_len, &error) != SFT_OK) {
        return FAILED;
    }
    return job->last == FIND ? 0 : stream(&model, &tensor, job, &error);
}
