/* Judges a pack on a computer: `judge PACK`. It prints what judge.h says. */
#include "host.h"
#include "judge.h"

/* For files that boards leave out. */
static uint8_t window[1 << 16];
static char text[1 << 16];
static sft_slot slots[1 << 17];
static sft_tensor tensors[8];

int main(int argc, char **argv)
{
    const judge_memory large = { window, sizeof window, text, sizeof text, slots, 1 << 17, tensors, 8 };
    const sft_storage storage = host_storage(argc == 2 ? argv[1] : NULL);
    return judge_pack(host_print(), &storage, &large);
}
