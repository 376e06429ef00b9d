/* Judges the vectors of a pack on a computer: `vectors PACK`. It prints what judge.h says. */
#include "host.h"
#include "judge.h"

/* As on boards, so that their verdicts have the same reasons. */
static uint8_t window[256];
static char text[512];
static sft_slot slots[16];
static sft_tensor tensors[8];

/* For files that boards leave out. */
#define LONG (UINT64_C(1) << 16)
static uint8_t large_window[1 << 16];
static char large_text[1 << 16];
static sft_slot large_slots[1 << 17];

int main(int argc, char **argv)
{
    const judge_memory small = { window, sizeof window, text, sizeof text, slots, 16, tensors, 8 };
    const judge_memory large = {
        large_window, sizeof large_window, large_text, sizeof large_text, large_slots, 1 << 17, tensors, 8,
    };
    const sft_storage storage = host_storage(argc == 2 ? argv[1] : NULL);
    static pack_record record;
    pack vectors;
    int next = -1;
    if (pack_begin(&vectors, &storage)) {
        while ((next = pack_next(&vectors, &record)) > 0) {
            if (record.kind == PACK_VECTOR) {
                judge_vector(host_print(), &record, record.file.len > LONG ? &large : &small);
            }
        }
    }
    return next == 0 ? 0 : 2;
}
