#include "frame.h"

#define PAINT UINT32_C(0xa5a55a5a)

extern uint32_t __stack_low;
int main(void);
void fault(void);

#ifdef __arm__
__asm__(".section .enter, \"a\"\n"
        ".word __stack_top, enter, fault, fault\n"
        ".section .text.enter, \"ax\"\n"
        ".thumb_func\n"
        ".global enter\n"
        "enter: bl main\n"
        ".text\n");

#define MEMORY UINT32_C(0x21000000)
#define TIMER ((volatile uint32_t *)0x40000000)

static inline uint32_t call(uint32_t operation, const void *parameter)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = parameter;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* The board's timer 0 counts down at 25 MHz: control, value, reload. */
static inline void start_clock(void)
{
    TIMER[2] = UINT32_MAX;
    TIMER[1] = UINT32_MAX;
    TIMER[0] = 1;
}

static inline uint32_t ticks(void)
{
    return UINT32_MAX - TIMER[1];
}

static inline uint32_t *stack_pointer(void)
{
    uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    return here;
}
#else
__asm__(".section .enter, \"ax\"\n"
        ".global enter\n"
        "enter: la sp, __stack_top\n"
        "la t0, trap\n"
        ".option push\n"
        ".option arch, +zicsr\n"
        "csrw mtvec, t0\n"
        ".option pop\n"
        "call main\n"
        ".balign 4\n"
        "trap: j fault\n"
        ".text\n");

#define MEMORY UINT32_C(0x81000000)

static inline uint32_t call(uint32_t operation, const void *parameter)
{
    register uint32_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = parameter;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

static inline void start_clock(void) {}

static inline uint32_t ticks(void)
{
    uint32_t cycles;
    __asm__ volatile(".option push\n.option arch, +zicsr\ncsrr %0, mcycle\n.option pop" : "=r"(cycles));
    return cycles;
}

static inline uint32_t *stack_pointer(void)
{
    uint32_t *here;
    __asm__ volatile("mv %0, sp" : "=r"(here));
    return here;
}
#endif

void print(const char *text, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        call(0x03, &text[at]);
    }
}

void figure(const char *name, uint32_t value)
{
    for (; *name != 0; name++) {
        print(name, 1);
    }
    print("=", 1);
    char digits[10];
    size_t first = sizeof digits;
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    print(&digits[first], sizeof digits - first);
    print("\n", 1);
}

static void leave(uint32_t code)
{
    const uint32_t block[2] = { 0x20026, code };
    for (;;) {
        call(0x20, block);
    }
}

void fault(void)
{
    leave(99);
}

/* Returns how many bytes of stack the task and all its calls use: paints the memory below, and looks how much paint
 * is left. */
static __attribute__((noinline)) uint32_t depth(const struct job *job, uint32_t *done)
{
    /* Not inlined, so that its frame is below this one. */
    uint32_t (*volatile run)(const struct job *) = task;
    uint32_t *low = &__stack_low;
    uint32_t *here = stack_pointer();
    for (volatile uint32_t *at = low; at < here; at++) {
        *at = PAINT;
    }
    *done = run(job);
    while (low < here && *(volatile uint32_t *)low == PAINT) {
        low++;
    }
    return (uint32_t)(here - low) * sizeof *low;
}

static __attribute__((noinline)) void count(struct job *job, enum step last, const char *name)
{
    uint32_t (*volatile run)(const struct job *) = task;
    job->last = last;
    start_clock();
    uint32_t nothing = ticks();
    nothing = ticks() - nothing;
    uint32_t start = ticks();
    run(job);
    figure(name, ticks() - start - nothing);
}

/* The request: the lengths of the window, of other memory, and of the bytes; and the steps, as bits. The bytes are
 * the file, the name, and the length of the name. */
int main(void)
{
    static const char NAMES[3][5] = { "open", "find", "all" };
    const volatile uint32_t *words = (const volatile uint32_t *)MEMORY;
    uint8_t *bytes = (uint8_t *)MEMORY + 16;
    uint8_t *end = bytes + words[2] - 1;
    uint8_t *name = end - *end;
    *end = 0;
    struct job job = {
        .file = bytes,
        .len = (size_t)(name - bytes),
        .name = (const char *)name,
        .window = (uint8_t *)MEMORY + 0xff0000,
        .window_len = words[0],
        .last = ALL,
    };
    uint32_t done;
    figure("stack", depth(&job, &done));
    figure("done", done);
    for (unsigned step = OPEN; step <= ALL; step++) {
        if (words[3] >> step & 1) {
            count(&job, (enum step)step, NAMES[step]);
        }
    }
    leave(0);
}
