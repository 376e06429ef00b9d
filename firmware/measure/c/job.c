/* Opens a model on a card, which validates it, finds a tensor, and streams it. */
#include <safetensors.h>

enum step { OPEN, FIND, ALL };

#define FAILED UINT32_MAX

/* What the frame gives, in src/bin/job_c.rs. */
struct task {
    void *card;
    size_t file_len;
    const char *name;
    uint8_t *window;
    size_t window_len;
    uint32_t last;
};

int32_t read_card(void *card, uint64_t offset, void *buffer, size_t len);

static uint32_t stream(sft_model *model, const sft_tensor *tensor, const struct task *job, sft_error *error)
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

uint32_t task(const struct task *job)
{
    const sft_storage card = sft_callbacks(read_card, job->card, job->file_len, SFT_LEN_EXACT);
    sft_request request;
    sft_model model;
    sft_tensor tensor;
    sft_error error;

    if (sft_open(&model, &card, NULL, NULL, 0, job->window, job->window_len, &error) != SFT_OK) {
        return FAILED;
    }
    if (job->last == OPEN) {
        return 0;
    }
    /* Without dimensions, which need not be set: clearing them would link memset. */
    request.name = job->name;
    request.dtypes = SFT_ANY_DTYPE;
    request.rank = SFT_ANY_RANK;
    request.optional = 0;
    if (sft_find(&model, &request, &tensor, 1, job->window, job->window_len, &error) != SFT_OK) {
        return FAILED;
    }
    return job->last == FIND ? 0 : stream(&model, &tensor, job, &error);
}
