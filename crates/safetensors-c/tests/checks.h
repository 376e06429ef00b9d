/* Counts what the tests on a computer check. */
#ifndef CHECKS_H
#define CHECKS_H

#include <safetensors.h>

#include <stdio.h>
#include <string.h>

static int checks_passed;
static int checks_failed;

/* Checks a condition. */
#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

static inline void check_that(int is_so, const char *what, const char *file, int line)
{
    if (is_so) {
        checks_passed++;
    } else {
        checks_failed++;
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
    }
}

/* Checks that a call, whose last argument is `&error`, fails with this code; "" for none. The class that it
 * returns must be that of the code. */
#define FAILS(code, call) check_fails((error_of_call = fresh_error(), (call)), (code), #call, __FILE__, __LINE__)
#define PASSES(call) FAILS("", call)
#define ERROR (&error_of_call)
/* Calls the next function, if all before it have succeeded. */
#define THEN(call) status = status != SFT_OK ? status : (call)

static sft_error error_of_call;

static inline sft_error fresh_error(void)
{
    sft_error error;
    memset(&error, 0, sizeof error);
    return error;
}

static inline sft_status class_of(const char *code)
{
    static const struct { const char *begin; sft_status status; } CLASSES[] = {
        { "limit.", SFT_LIMIT }, { "usage.", SFT_USAGE }, { "c.", SFT_USAGE }, { "storage.", SFT_STORAGE },
    };
    size_t i;
    for (i = 0; i < sizeof CLASSES / sizeof CLASSES[0]; i++) {
        if (strncmp(code, CLASSES[i].begin, strlen(CLASSES[i].begin)) == 0) {
            return CLASSES[i].status;
        }
    }
    return code[0] == 0 ? SFT_OK : SFT_FILE;
}

static inline void check_fails(sft_status status, const char *expected, const char *call, const char *file, int line)
{
    char code[SFT_CODE_LEN] = "";
    if (status != SFT_OK) {
        sft_error_code(&error_of_call, code, sizeof code);
    }
    if (strcmp(code, expected) == 0 && status == class_of(expected)) {
        checks_passed++;
    } else {
        checks_failed++;
        fprintf(stderr, "%s:%d: %s\n    status %d, code \"%s\", not \"%s\"\n", file, line, call, (int)status, code,
                expected);
    }
}

/* Prints the totals, and returns what a program ends with. */
static inline int checks_end(const char *what)
{
    printf("%s: %d passed, %d failed\n", what, checks_passed, checks_failed);
    return checks_failed != 0 || checks_passed == 0;
}

#endif
