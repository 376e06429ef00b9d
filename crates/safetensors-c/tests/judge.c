/* Judges the vectors in the file vectors.bin of the current directory, on a computer or on an emulated board with
 * semihosting. Before each vector, a line states its length, the code of its error or `ok`, the byte of the error, and
 * its id. Prints each vector with another verdict, and how many vectors there were. */
#include <safetensors.h>
#include <stdio.h>
#include <string.h>

/* What a device has, for the vectors up to this length. A computer has memory for all. */
#ifndef LONGEST
#define LONGEST 65536
#define SLOTS 16
#define WINDOW 256
#endif

typedef struct vector {
    FILE *pack;
    long begin;
    unsigned long len;
} vector;

static int32_t read_vector(void *context, uint64_t offset, void *buffer, size_t len)
{
    const vector *file = context;
    if (len > file->len - offset) { /* the library reads nothing beyond the length */
        len = (size_t)(file->len - offset);
    }
    if (fseek(file->pack, file->begin + (long)offset, SEEK_SET) != 0) {
        return -1;
    }
    return (int32_t)fread(buffer, 1, len, file->pack);
}

static sft_status judge(vector *file, sft_error *error)
{
    static sft_slot slots[SLOTS];
    static unsigned char window[WINDOW], text[WINDOW];
    const sft_storage storage = sft_callbacks(read_vector, file, file->len, SFT_LEN_EXACT);
    sft_model model;
    sft_status status = sft_open_unordered(&model, &storage, slots, SLOTS, window, WINDOW, error);

    if (status == SFT_OK) { /* duplicates */
        status = sft_validate_names(&model, NULL, slots, SLOTS, text, WINDOW, window, WINDOW, error);
    }
    return status;
}

int main(void)
{
    vector file = { fopen("vectors.bin", "rb"), 0, 0 };
    char line[200], expected[SFT_CODE_LEN], code[SFT_CODE_LEN], id[100];
    unsigned long at, count = 0, wrong = 0;
    sft_error error;

    while (file.pack != NULL && fgets(line, sizeof line, file.pack) != NULL) {
        if (sscanf(line, "%lu %39s %lu %99s", &file.len, expected, &at, id) != 4) {
            printf("no vector: %s\n", line);
            return 2;
        }
        file.begin = ftell(file.pack);
        if (file.len <= LONGEST) {
            strcpy(code, "ok");
            error.at = 0;
            if (judge(&file, &error) != SFT_OK) {
                sft_error_code(&error, code, sizeof code);
            }
            count++;
            if (strcmp(code, expected) != 0 || error.at != at) {
                wrong++;
                printf("%s: %s at byte %lu, not %s at %lu\n", id, code, (unsigned long)error.at, expected, at);
            }
        }
        fseek(file.pack, file.begin + (long)file.len, SEEK_SET);
    }
    printf("%lu vectors, %lu with another verdict\n", count, wrong);
    return count == 0 || wrong > 0;
}
