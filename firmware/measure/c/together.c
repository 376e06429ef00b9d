/* Opens a model on a card, finds a tensor in the same pass over the header, and streams it. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    const sft_request request = request_any(job->name);
    sft_model model;
    sft_tensor tensor;
    sft_error error;

    if (open_with(&model, job, &request, &tensor, &error) != SFT_OK) {
        return FAILED;
    }
    return job->last == ALL ? stream(&model, &tensor, job, &error) : 0;
}
