/* A model in a file, read through callbacks of stdio: a dense layer with 8 inputs and 3 outputs.
 *
 *     inference model.safetensors
 *
 * Only the rows that are computed are in memory. For your model, change NET and `run`. */
#include <limits.h>
#include <safetensors.h>
#include <stdio.h>

/* The tensors that `run` reads. A model with another dtype or shape is an error. */
enum { WEIGHT, SCALE, BIAS, TENSORS };
static const sft_request NET[TENSORS] = {
    SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
    SFT_REQUIRED("fc.scale", SFT_F16 | SFT_BF16, 1, 3),
    SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
};

static const float INPUTS[8] = { 3, -1, 4, 1, -5, 9, 2, -6 };

static int32_t read_file(void *context, uint64_t offset, void *buffer, size_t len)
{
    FILE *file = (FILE *)context;
    if (offset > LONG_MAX) {
        return 0;
    }
    if (fseek(file, (long)offset, SEEK_SET) != 0) {
        return -1;
    }
    len = fread(buffer, 1, len, file);
    return ferror(file) ? -1 : (int32_t)len;
}

static sft_status run(FILE *file, long len, float outputs[3], sft_error *error)
{
    const sft_storage storage = sft_callbacks(read_file, file, (uint64_t)len, SFT_LEN_EXACT);
    sft_model model;
    sft_tensor tensors[TENSORS];
    unsigned char window[256];
    float scales[3], row[8];
    sft_status status = sft_open(&model, &storage, NET, tensors, TENSORS, window, sizeof window, error);

    if (status == SFT_OK) { /* one flipped bit in a weight is an error */
        status = sft_verify_embedded(&model, window, sizeof window, error);
    }
    if (status == SFT_OK) {
        status = sft_read_f32(&model, &tensors[SCALE], 0, scales, 3, error);
    }
    if (status == SFT_OK) {
        status = sft_read_f32(&model, &tensors[BIAS], 0, outputs, 3, error);
    }
    for (unsigned output = 0; status == SFT_OK && output < 3; output++) {
        status = sft_read_f32(&model, &tensors[WEIGHT], 8 * output, row, 8, error); /* I8 in the file */
        for (unsigned input = 0; status == SFT_OK && input < 8; input++) {
            outputs[output] += scales[output] * row[input] * INPUTS[input];
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    const long len = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    float outputs[3];
    sft_error error;
    char sentence[200];
    sft_status status;

    if (len < 0) {
        fprintf(stderr, "usage: %s model.safetensors\n", argv[0]);
        return 2;
    }
    status = run(file, len, outputs, &error);
    fclose(file);
    if (status != SFT_OK) {
        sft_error_sentence(&error, sentence, sizeof sentence);
        fprintf(stderr, "%s: %s\n", error.request < 0 ? "the model" : NET[error.request].name, sentence);
        return 1;
    }
    printf("outputs in thousandths: [%d, %d, %d]\n", (int)(outputs[0] * 1000), (int)(outputs[1] * 1000),
           (int)(outputs[2] * 1000));
    return 0;
}
