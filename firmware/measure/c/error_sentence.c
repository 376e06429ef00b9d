/* Opens a model, and prints the sentence of an error. */
#include "frame.h"

uint32_t task(const struct job *job)
{
    sft_model model;
    sft_error error;
    char sentence[200];
    if (open_model(&model, job, &error) != SFT_OK) {
        size_t len = sft_error_sentence(&error, sentence, sizeof sentence);
        print(sentence, len < sizeof sentence ? len : sizeof sentence - 1);
        print("\n", 1);
        return FAILED;
    }
    return (uint32_t)job->len;
}
