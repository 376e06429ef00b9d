/* Mistakes of callers: each is an error with its code, and none is undefined behaviour. A table has every function with
 * its arguments: each pointer, length and object is wrong in turn. What only some functions reject follows. */
#include "checks.h"

/* A file with the tensors "a" (F32, 2 elements: 1 and 2) and "b" (I8, 3 elements: -1, 0 and 1), and metadata. */
static const char HEADER[] = "{\"__metadata__\":{\"key\":\"value\"},"
                             "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                             "\"b\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[8,11]}}";
#define HEADER_LEN (sizeof HEADER - 1)
#define FILE_LEN (8 + HEADER_LEN + 11)
#define DATA (8 + HEADER_LEN)
static uint8_t file[FILE_LEN];
/* The CRC-32 of the file. */
#define CRC UINT32_C(0x4DB0B5A0)

static void make_file(void)
{
    static const uint8_t data[11] = { 0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0xFF, 0, 1 };
    file[0] = (uint8_t)HEADER_LEN;
    memcpy(file + 8, HEADER, HEADER_LEN);
    memcpy(file + DATA, data, sizeof data);
}

static const sft_request A = SFT_REQUIRED("a", SFT_F32, 1, 2);
static const sft_request B = SFT_REQUIRED("b", SFT_I8, 1, SFT_ANY_SIZE);
static sft_request both[2];

/* Memory that the calls share. */
static uint8_t window[64];
static char text[64];
static sft_slot slots[4];

/* A pointer that is not aligned, inside of an array of two. */
#define ASKEW(type, array) ((type *)(void *)((char *)(void *)(array) + 1))

static const char NOT_UTF8[] = "a\xFF";

/* ---- Storage that does something wrong --------------------------------------------------------------- */

typedef struct device {
    /* What was written. */
    uint8_t bytes[512];
    /* The call that does something wrong, counted from 1; 0 for none, and below it for all. */
    int wrong_call;
    int calls;
    /* What it returns; nothing if it calls back. */
    int32_t returns;
    /* Whether it was one that writes. */
    int is_write;
    void (*call)(void *object, size_t size);
    void *object;
    size_t size;
} device;

/* Returned by reads: one byte more than there is room for. */
#define ONE_MORE (INT32_MAX - 1)

/* Whether this call does something wrong. */
static int is_wrong(device *it)
{
    int is_due = ++it->calls == it->wrong_call || it->wrong_call < 0;
    if (is_due && it->call != NULL) {
        it->call(it->object, it->size);
        return 0;
    }
    return is_due;
}

static int32_t read_device(void *context, uint64_t offset, void *buffer, size_t len)
{
    device *it = (device *)context;
    if (is_wrong(it)) {
        return it->returns == ONE_MORE ? (int32_t)len + 1 : it->returns;
    }
    if (offset >= FILE_LEN) {
        return 0;
    }
    len = len > FILE_LEN - offset ? (size_t)(FILE_LEN - offset) : len;
    memcpy(buffer, file + offset, len);
    return (int32_t)len;
}

/* ---- Errors ------------------------------------------------------------------------------------------ */

static void error_texts(void)
{
    sft_error error, garbage, two[2];
    char small[8];
    sft_model model;
    char *none = NULL;
    memset(&garbage, 0xA5, sizeof garbage);
    CHECK(sft_open(NULL, NULL, NULL, NULL, 0, NULL, 0, &error) == SFT_USAGE);
    CHECK(error.request == -1 && error.storage == 0 && error.at == 0);
    CHECK(sft_error_code(&error, text, sizeof text) == 6 && strcmp(text, "c.null") == 0);
    CHECK(sft_error_code(&error, none, 0) == 6);
    CHECK(sft_error_code(&error, none, 5) == 0);
    CHECK(sft_error_code(&error, text, 0) == 6 && strcmp(text, "c.null") == 0);
    CHECK(sft_error_code(&error, text, 1) == 6 && text[0] == 0 && text[1] == '.');
    memset(small, 'x', sizeof small);
    CHECK(sft_error_code(&error, small, 6) == 6 && strcmp(small, "c.nul") == 0 && small[6] == 'x');
    CHECK(sft_error_code(&error, small, 7) == 6 && strcmp(small, "c.null") == 0 && small[7] == 'x');
    CHECK(sft_error_code(&error, text, SIZE_MAX) == 0);
    CHECK(sft_error_sentence(&error, text, sizeof text) == 32
          && strcmp(text, "error[c.null]: a pointer is NULL") == 0);
    CHECK(sft_error_sentence(&error, none, 0) == 32);
    CHECK(sft_error_sentence(&error, none, 1) == 0);
    memset(small, 'x', sizeof small);
    CHECK(sft_error_sentence(&error, small, 1) == 32 && small[0] == 0 && small[1] == 'x');
    CHECK(sft_error_sentence(&error, small, 6) == 32 && strcmp(small, "error") == 0 && small[6] == 'x');
    /* Into the memory of the error itself. */
    {
        sft_error one;
        char *over;
        size_t byte;
        for (byte = 0; byte + 33 <= sizeof one; byte++) {
            one = error;
            over = (char *)&one + byte;
            CHECK(sft_error_sentence(&one, over, 33) == 32 && strcmp(over, "error[c.null]: a pointer is NULL") == 0);
            one = error;
            CHECK(sft_error_code(&one, over, 7) == 6 && strcmp(over, "c.null") == 0);
        }
    }
    {
        /* What C may change, it may change to anything. */
        sft_error changed = error;
        changed.at = UINT64_MAX;
        changed.storage = changed.request = INT32_MIN;
        CHECK(sft_error_sentence(&changed, text, sizeof text) == 32 && strcmp(text, "error[c.null]: a pointer is NULL") == 0);
    }
    CHECK(sft_error_code(NULL, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_sentence(NULL, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_code(&garbage, text, sizeof text) == 8 && strcmp(text, "no error") == 0);
    CHECK(sft_error_code(ASKEW(sft_error, two), text, sizeof text) == 8);
    /* An error that cannot be filled in changes nothing. */
    CHECK(sft_open(&model, NULL, NULL, NULL, 0, NULL, 0, NULL) == SFT_USAGE);
    memset(two, 0xA5, sizeof two);
    CHECK(sft_open(&model, NULL, NULL, NULL, 0, NULL, 0, ASKEW(sft_error, two)) == SFT_USAGE);
    CHECK(memcmp(two, &garbage, sizeof garbage) == 0);
}

/* ---- The table --------------------------------------------------------------------------------------- */

static int32_t write_flash(void *context, uint64_t offset, const void *bytes, size_t len)
{
    device *it = (device *)context;
    if (is_wrong(it)) {
        it->is_write = 1;
        return it->returns;
    }
    CHECK(offset <= sizeof it->bytes && len <= sizeof it->bytes - offset && len > 0);
    memcpy(it->bytes + offset, bytes, len);
    return (int32_t)len;
}

static int32_t prepare_flash(void *context, uint64_t data_start, uint64_t file_len)
{
    device *it = (device *)context;
    CHECK(data_start <= file_len && file_len <= sizeof it->bytes);
    memset(it->bytes, 0xFF, sizeof it->bytes);
    return is_wrong(it) ? it->returns : 0;
}

static int32_t flush_flash(void *context)
{
    device *it = (device *)context;
    return is_wrong(it) ? it->returns : 0;
}

static sft_sink sink_of(device *it)
{
    const sft_sink sink = { write_flash, prepare_flash, flush_flash, it, sizeof it->bytes, 1 };
    return sink;
}

static const sft_spec SPECS[2] = { { "a", SFT_F32, 1, { 2 } }, { "b", SFT_I8, 1, { 3 } } };
static const sft_pair PAIRS[1] = { { "key", "value" } };
#define WORDS SFT_RECORDER_MEMORY(2, 1)

/* What calls are made with, as `fresh` makes it. The new objects are not open. */
static sft_model model, new_model;
static sft_receiver receiver, new_receiver;
static sft_recorder written, new_written;
static sft_file_receiver stored, new_stored;
static sft_verifier verifier, new_verifier;
static sft_slots placed, new_placed;
static sft_flash nor = { NULL, NULL, NULL, NULL, 0, 28672, 3, 2 };
static sft_installed installed, next;
static uint32_t from;
static device reader;
static sft_storage storage;
static device chip, old_chip;
static sft_sink sink;
static sft_spec specs[2];
static sft_pair pairs[1];
static sft_request request;
static sft_target targets[3], new_targets[3];
/* Of "a" and "b"; and of "b". */
static sft_tensor found[2], tensors[2], stored_tensors[2], tensor;
static uint64_t memory[WORDS], new_memory[WORDS];
static double numbers[4];
static float of_a[2];
static uint8_t buffer[64], new_buffer[64], units[64], sum[32], page[128], offer[128];
/* The first number of calls that read. */
static uint64_t first;

static void fresh(void)
{
    memset(&new_model, 0xA5, sizeof new_model);
    memset(&new_receiver, 0xA5, sizeof new_receiver);
    memset(&new_written, 0xA5, sizeof new_written);
    memset(&new_stored, 0xA5, sizeof new_stored);
    memset(&new_verifier, 0xA5, sizeof new_verifier);
    memset(&new_placed, 0xA5, sizeof new_placed);
    memset(&chip, 0, sizeof chip);
    memset(&reader, 0, sizeof reader);
    memset(&first, 0, sizeof first);
    storage = sft_memory(file, FILE_LEN);
    sink = sink_of(&old_chip);
    request = B;
    memcpy(specs, SPECS, sizeof specs);
    memcpy(pairs, PAIRS, sizeof pairs);
    PASSES(sft_open(&model, &storage, both, found, 2, window, sizeof window, ERROR));
    tensor = found[1];
    PASSES(sft_receiver_begin(&receiver, targets, 3, ERROR));
    PASSES(sft_receiver_add_f32(&receiver, &A, of_a, 2, ERROR));
    PASSES(sft_verifier_begin(&verifier, ERROR));
    PASSES(sft_slots_begin(&placed, &nor, page, sizeof page, ERROR));
    PASSES(sft_recorder_begin(&written, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, 32, ERROR));
    PASSES(sft_file_receiver_begin(&stored, &sink, FILE_LEN, both, stored_tensors, 2, units, 64, ERROR));
    sink = sink_of(&chip);
    memset(tensors, 0xA5, sizeof tensors);
}

static void visit_nothing(void *context, const char *name, size_t name_len, const sft_tensor *it)
{
    (void)name;
    (void)name_len;
    (void)it;
    if (context != NULL) {
        ++*(int *)context;
    }
}

typedef struct argument {
    void *at;
    size_t count, size;
    /* The code if the array is empty; NULL if the call has no length for it. */
    const char *empty;
    /* It may overlap with the others. */
    int is_apart;
} argument;

#define MOST_ARGUMENTS 6

typedef struct row {
    const char *name;
    sft_status (*call)(const argument *a);
    /* What the call returns. */
    const char *code;
    /* Whether it opens its object. */
    int opens;
    argument a[MOST_ARGUMENTS];
} row;

#define P(index) a[index].at
#define PL(index) a[index].at, a[index].count
#define CALL(name, ...) \
    static sft_status call_##name(const argument *a) { return sft_##name(__VA_ARGS__, ERROR); }

CALL(open, P(0), P(1), P(2), PL(3), PL(4))
CALL(open_unordered, P(0), P(1), PL(2), PL(3))
CALL(find, P(0), P(1), PL(2), PL(3))
CALL(for_each, P(0), visit_nothing, NULL, PL(1), PL(2))
CALL(validate_names, P(0), NULL, PL(1), PL(2), PL(3))
CALL(metadata, P(0), "key", PL(1), NULL, PL(2))
CALL(verify_sha256, P(0), P(1), PL(2))
CALL(verify_crc32, P(0), 0, PL(1))
CALL(verify_embedded, P(0), PL(1))
CALL(receiver_begin, P(0), PL(1))
CALL(receiver_push, P(0), PL(1))
CALL(receiver_end, P(0))
CALL(receiver_tensor, P(0), 0, P(1))
CALL(verifier_begin, P(0))
CALL(verifier_update, P(0), PL(1))
CALL(verifier_verify, P(0))
CALL(recorder_begin, P(0), P(1), PL(2), PL(3), PL(4), PL(5))
CALL(recorder_finish, P(0))
CALL(file_receiver_begin, P(0), P(1), FILE_LEN, P(2), PL(3), PL(4))
CALL(file_receiver_push, P(0), PL(1))
CALL(file_receiver_finish, P(0))
CALL(read_rounded_f32, P(0), P(1), first, PL(2))
CALL(slots_begin, P(0), P(1), PL(2))
CALL(slots_start, P(0), P(1))
CALL(slots_models, P(0), P(1), P(2))
CALL(slots_receive, P(0), P(1), P(2))
CALL(slots_receive_delta, P(0), P(1), P(2))
CALL(slots_push, P(0), PL(1))
CALL(slots_verify, P(0), P(1), P(2), NULL, P(3), PL(4))

/* The functions for each type: its values, and what reading I8 and writing F32 with it returns. */
#define TYPES(X) \
    X(bytes, uint8_t, "", "") X(f32, float, "", "") X(f64, double, "", "usage.values") \
    X(i8, int8_t, "", "usage.values") X(u8, uint8_t, "usage.conversion", "usage.values") \
    X(i16, int16_t, "", "usage.values") X(u16, uint16_t, "usage.conversion", "usage.values") \
    X(i32, int32_t, "", "usage.values") X(u32, uint32_t, "usage.conversion", "usage.values") \
    X(i64, int64_t, "", "usage.values") X(u64, uint64_t, "usage.conversion", "usage.values")

#define CALLS(name, type, read, write) \
    CALL(read_##name, P(0), P(1), first, PL(2)) \
    CALL(receiver_add_##name, P(0), P(1), PL(2)) \
    CALL(recorder_write_##name, P(0), PL(1))
TYPES(CALLS)

#define OBJECT(it) { &it, 1, sizeof it, NULL, 0 }
#define ARRAY(it, count, empty) { it, count, sizeof it[0], empty, 0 }
#define TABLE(it) { it, 2, sizeof it[0], NULL, 0 }
#define VALUES(type, count, empty) { numbers, count, sizeof(type), empty, 0 }
#define WINDOW ARRAY(window, 64, "usage.window")
#define ROW(function, code, opens, ...) { #function, call_##function, code, opens, { __VA_ARGS__ } },
#define ROWS(name, type, read, write) \
    ROW(read_##name, read, 0, OBJECT(model), OBJECT(tensor), VALUES(type, 3, read)) \
    ROW(receiver_add_##name, "", 0, OBJECT(receiver), OBJECT(request), VALUES(type, 3, "")) \
    ROW(recorder_write_##name, write, 0, OBJECT(written), VALUES(type, 1, ""))

static const row TABLE_OF_ALL[] = {
    TYPES(ROWS)
    ROW(read_rounded_f32, "", 0, OBJECT(model), OBJECT(tensor), VALUES(float, 3, ""))
    ROW(open, "", 1, OBJECT(new_model), OBJECT(storage), TABLE(both), ARRAY(tensors, 2, ""), WINDOW)
    ROW(open_unordered, "", 1, OBJECT(new_model), OBJECT(storage), ARRAY(slots, 4, ""), WINDOW)
    ROW(find, "", 0, OBJECT(model), TABLE(both), ARRAY(tensors, 2, ""), WINDOW)
    ROW(for_each, "", 0, OBJECT(model), ARRAY(text, 64, "limit.name"), WINDOW)
    ROW(validate_names, "", 0, OBJECT(model), ARRAY(slots, 4, "limit.slots"), ARRAY(text, 64, ""), WINDOW)
    ROW(metadata, "", 0, OBJECT(model), ARRAY(text, 64, "c.text"), WINDOW)
    /* A file in memory needs no buffer for its sum. */
    ROW(verify_sha256, "integrity.sum", 0, OBJECT(model), { sum, 32, 1, NULL, 1 }, ARRAY(window, 64, "integrity.sum"))
    ROW(verify_crc32, "integrity.sum", 0, OBJECT(model), ARRAY(window, 64, "integrity.sum"))
    ROW(verify_embedded, "usage.sum", 0, OBJECT(model), WINDOW)
    ROW(receiver_begin, "", 1, OBJECT(new_receiver), ARRAY(new_targets, 2, ""))
    ROW(receiver_push, "", 0, OBJECT(receiver), ARRAY(file, 10, ""))
    ROW(receiver_tensor, "", 0, OBJECT(receiver), OBJECT(tensor))
    ROW(receiver_end, "container.short", 0, OBJECT(receiver))
    ROW(verifier_begin, "", 1, OBJECT(new_verifier))
    ROW(verifier_update, "", 0, OBJECT(verifier), ARRAY(file, 10, ""))
    ROW(verifier_verify, "container.short", 0, OBJECT(verifier))
    ROW(recorder_begin, "", 1, OBJECT(new_written), OBJECT(sink), ARRAY(specs, 2, ""), ARRAY(pairs, 1, ""),
        ARRAY(new_memory, WORDS, "c.memory"), ARRAY(new_buffer, 64, "limit.buffer"))
    ROW(recorder_finish, "usage.incomplete", 0, OBJECT(written))
    ROW(file_receiver_begin, "", 1, OBJECT(new_stored), OBJECT(sink), TABLE(both), ARRAY(tensors, 2, ""),
        ARRAY(new_buffer, 64, "limit.buffer"))
    ROW(file_receiver_push, "", 0, OBJECT(stored), ARRAY(file, 10, ""))
    ROW(file_receiver_finish, "container.short", 0, OBJECT(stored))
    ROW(slots_begin, "", 1, OBJECT(new_placed), OBJECT(nor), ARRAY(new_buffer, 64, ""))
    ROW(slots_start, "storage.failed", 0, OBJECT(placed), OBJECT(installed))
    ROW(slots_models, "", 0, OBJECT(placed), OBJECT(installed), OBJECT(next))
    ROW(slots_receive, "usage.offer", 0, OBJECT(placed), ARRAY(offer, 128, NULL), OBJECT(from))
    ROW(slots_receive_delta, "usage.offer", 0, OBJECT(placed), ARRAY(offer, 128, NULL), OBJECT(from))
    ROW(slots_push, "c.start", 0, OBJECT(placed), ARRAY(file, 10, ""))
    ROW(slots_verify, "usage.offer", 0, OBJECT(placed), ARRAY(offer, 128, NULL), ARRAY(sum, 16, NULL), TABLE(both),
        ARRAY(tensors, 2, "usage.offer"))
};
#define ROW_COUNT (sizeof TABLE_OF_ALL / sizeof TABLE_OF_ALL[0])

/* Checks what a call returns; what was done, `how`, is printed if it is something else. */
static void returns(const char *code, const row *it, const argument *a, const char *how)
{
    char what[80];
    snprintf(what, sizeof what, "sft_%s: %s", it->name, how);
    error_of_call = fresh_error();
    check_fails(it->call(a), code, what, __FILE__, __LINE__);
}

/* As `returns`, with other arguments than those of the row. No tensor is usable after an error, but for wrong
 * pointers. */
static void with_wrong(const row *it, size_t index, argument wrong, const char *code, const char *how)
{
    row changed = *it;
    size_t i;
    fresh();
    changed.a[index] = wrong;
    returns(code, &changed, changed.a, how);
    for (i = 1; i < MOST_ARGUMENTS && code[0] != 0 && index != 0; i++) {
        if (changed.a[i].at == tensors && changed.a[i].count == 2 && strncmp(code, "c.", 2) != 0) {
            CHECK(tensors[0].dtype == 0 && tensors[1].dtype == 0);
        }
    }
}

/* For two arrays; the first begins at `AT`. */
static union {
    uint64_t words[64];
    uint8_t bytes[512];
} shared;
#define AT (shared.bytes + 128)

static void wrong_pointers(const row *it, size_t index)
{
    const argument right = it->a[index];
    argument wrong = right;
    wrong.at = NULL;
    with_wrong(it, index, wrong, "c.null", "NULL");
    if (right.size > 1) {
        wrong.at = shared.bytes + 1;
        with_wrong(it, index, wrong, "c.aligned", "misaligned");
    }
    if (right.empty != NULL) {
        wrong = right;
        wrong.count = SIZE_MAX;
        with_wrong(it, index, wrong, "c.length", "the longest");
        wrong.count = SIZE_MAX / 2 + 1;
        with_wrong(it, index, wrong, "c.length", "too long");
        wrong.count = 0;
        with_wrong(it, index, wrong, right.empty, "empty");
        wrong.at = NULL;
        with_wrong(it, index, wrong, right.empty, "NULL and empty");
    }
}

static void overlaps(const row *it, size_t one, size_t other)
{
    const size_t len = it->a[one].count * it->a[one].size;
    argument wrong = it->a[other];
    if (it->a[one].is_apart || wrong.is_apart) {
        return;
    }
    wrong.at = (char *)it->a[one].at + len / 16 * 8;
    with_wrong(it, other, wrong, "c.overlap", "inside of another argument");
    wrong.at = it->a[one].at;
    with_wrong(it, other, wrong, "c.overlap", "at another argument");
    if (wrong.size == 1) {
        /* Less than three words at the end of an object are unused. */
        wrong.at = (char *)it->a[one].at + len - (one == 0 ? 25 : 1);
        with_wrong(it, other, wrong, "c.overlap", "over the end of another argument");
    }
}

/* All functions check overlaps in the same way. */
static void exact_overlaps(void)
{
    static const struct { size_t begin, len; const char *code; } ROWS[] = {
        { 64, 64, "" },          { 192, 64, "" },          { 64, 65, "c.overlap" },  { 191, 64, "c.overlap" },
        { 128, 64, "c.overlap" }, { 160, 8, "c.overlap" }, { 64, 192, "c.overlap" },
    };
    size_t i;
    fresh();
    for (i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        FAILS(ROWS[i].code, sft_for_each(&model, visit_nothing, NULL, shared.bytes + 128, 64, shared.bytes + ROWS[i].begin,
                                         ROWS[i].len, ERROR));
    }
}

/* Memory for any object. */
static union {
    sft_verifier verifier;
    sft_receiver receiver;
    uint64_t words[64];
} place;

/* An object that is not open, was moved, or has another type. */
static void wrong_objects(const row *it)
{
    static const int FILLINGS[] = { 0, 0xFF, 0xA5 };
    row moved = *it;
    size_t i;
    for (i = 0; i < 3; i++) {
        fresh();
        memset(it->a[0].at, FILLINGS[i], it->a[0].size);
        returns(it->opens ? it->code : "c.state", it, it->a, "garbage");
    }
    if (it->opens) {
        return;
    }
    fresh();
    moved.a[0].at = &place;
    memcpy(&place, it->a[0].at, it->a[0].size);
    returns("c.state", it, moved.a, "moved");
    if (it->a[0].at == &verifier) {
        PASSES(sft_receiver_begin(&place.receiver, NULL, 0, ERROR));
    } else {
        PASSES(sft_verifier_begin(&place.verifier, ERROR));
    }
    returns("c.state", it, moved.a, "another type");
}

static void wrong_arguments(void)
{
    size_t i, one, other;
    for (i = 0; i < ROW_COUNT; i++) {
        const row *it = &TABLE_OF_ALL[i];
        with_wrong(it, 0, it->a[0], it->code, "right");
        wrong_objects(it);
        for (one = 0; one < MOST_ARGUMENTS && it->a[one].at != NULL; one++) {
            wrong_pointers(it, one);
            for (other = one + 1; other < MOST_ARGUMENTS && it->a[other].at != NULL; other++) {
                overlaps(it, one, other);
            }
        }
    }
}

static int called;

/* Calls all functions for objects of this size with one that is in use. */
static void use_again(void *object, size_t size)
{
    const sft_error outer = error_of_call;
    size_t i;
    called++;
    for (i = 0; i < ROW_COUNT; i++) {
        row it = TABLE_OF_ALL[i];
        it.a[0].at = object;
        if (it.a[0].size == size) {
            returns("c.reentered", &it, it.a, "from a callback");
        }
    }
    error_of_call = outer;
}

static void visit_and_use(void *context, const char *name, size_t name_len, const sft_tensor *it)
{
    visit_nothing(NULL, name, name_len, it);
    use_again(context, sizeof(sft_model));
}

static sft_storage storage_of(device *it)
{
    return sft_callbacks(read_device, it, FILE_LEN, SFT_LEN_EXACT);
}

/* While a call runs, its object is in use. */
static void calls_from_callbacks(void)
{
    size_t i;
    for (i = 0; i < ROW_COUNT; i++) {
        row it = TABLE_OF_ALL[i];
        if (it.a[0].size != sizeof(sft_model)) {
            continue;
        }
        fresh();
        storage = storage_of(&reader);
        PASSES(sft_open(&model, &storage, NULL, NULL, 0, window, 64, ERROR));
        reader.wrong_call = -1;
        reader.call = use_again;
        reader.object = it.a[0].at;
        reader.size = sizeof model;
        called = 0;
        returns(it.code, &it, it.a, "with calls from callbacks");
        CHECK(called > 0 || strcmp(it.code, "usage.conversion") == 0);
    }
    fresh();
    called = 0;
    PASSES(sft_for_each(&model, visit_and_use, &model, text, 64, window, 64, ERROR));
    CHECK(called == 2);
}

/* Another model may be used in a callback. */
static void use_other(void *object, size_t size)
{
    (void)size;
    called++;
    PASSES(sft_find((sft_model *)object, both, tensors, 2, text, 64, ERROR));
}

static void other_models_in_callbacks(void)
{
    fresh();
    reader.wrong_call = -1;
    reader.call = use_other;
    reader.object = &model;
    storage = storage_of(&reader);
    called = 0;
    PASSES(sft_open(&new_model, &storage, both, found, 2, window, 64, ERROR));
    CHECK(called > 0 && found[1].elements == 3);
}

/* Bytes that are UTF-8, and those that only look like it. */
static void texts(void)
{
    static const char *const INVALID[] = {
        "\x80", "\xC1\xBF", "\xC2", "\xC2\xC0", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xEF\xBF", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
    };
    size_t i;
    fresh();
    request.name = "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"
                   "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF";
    FAILS("usage.missing", sft_find(&model, &request, tensors, 1, window, 64, ERROR));
    for (i = 0; i < sizeof INVALID / sizeof INVALID[0]; i++) {
        request.name = INVALID[i];
        FAILS("c.utf8", sft_find(&model, &request, tensors, 1, window, 64, ERROR));
    }
}

/* What the functions of each type have in common. */
static void values_of_each_type(void)
{
    static const struct { const char *code; sft_request request; } BAD[] = {
        { "c.utf8", SFT_REQUIRED(NOT_UTF8, SFT_I8, 1, 3) },
        { "c.null", SFT_REQUIRED(NULL, SFT_I8, 1, 3) },
        { "c.rank", SFT_REQUIRED("b", SFT_I8, 9, 3) },
        { "c.dtype", SFT_REQUIRED("b", UINT32_C(1) << 25, 1, 3) },
    };
    size_t i, j;
    for (i = 0; i < ROW_COUNT; i++) {
        const row *it = &TABLE_OF_ALL[i];
        argument wrong = it->a[2];
        if (it->a[1].at == &request) {
            for (j = 0; j < sizeof BAD / sizeof BAD[0]; j++) {
                fresh();
                request = BAD[j].request;
                returns(BAD[j].code, it, it->a, "a bad request");
            }
            fresh();
            PASSES(sft_receiver_begin(&receiver, NULL, 0, ERROR));
            returns("c.targets", it, it->a, "no target left");
        }
        if (it->a[1].at == &tensor && it->a[2].at == numbers && it->code[0] == 0) {
            const char *beyond = strcmp(it->name, "read_bytes") == 0 ? "usage.range" : "usage.element";
            wrong.count = 4;
            with_wrong(it, 2, wrong, beyond, "more numbers than there are");
            for (wrong.count = 0; wrong.count < 2; wrong.count++) {
                static const uint64_t FIRST[] = { 3, 4, UINT64_MAX };
                for (j = 0; j < 3; j++) {
                    row at = *it;
                    fresh();
                    first = FIRST[j];
                    at.a[2].count = wrong.count;
                    returns(first + wrong.count == 3 ? "" : beyond, it, at.a, "the end");
                }
            }
            fresh();
            memset(&tensor, 0, sizeof tensor);
            returns("c.missing", it, it->a, "a tensor that is missing");
        }
    }
}

/* ---- Models ------------------------------------------------------------------------------------------ */

static void states_of_models(void)
{
    /* An open model can be opened again; when that fails, it is not open. */
    fresh();
    PASSES(sft_open(&model, &storage, both, tensors, 2, window, 1, ERROR));
    FAILS("c.null", sft_open(&model, &storage, both, tensors, 2, NULL, 1, ERROR));
    FAILS("c.state", sft_find(&model, both, tensors, 2, window, 64, ERROR));
}

static void requests_of_open(void)
{
    sft_request bad[2];
    size_t i;
    struct { const char *code; sft_request request; } rows[] = {
        { "c.null", SFT_REQUIRED(NULL, SFT_F32, 1, 2) },
        { "c.utf8", SFT_REQUIRED(NOT_UTF8, SFT_F32, 1, 2) },
        { "c.dtype", SFT_REQUIRED("a", UINT32_C(1) << 22, 1, 2) },
        { "c.dtype", SFT_REQUIRED("a", SFT_F32 | UINT32_C(1) << 31, 1, 2) },
        { "c.rank", SFT_REQUIRED("a", SFT_F32, 9, 2) },
        { "c.rank", SFT_OPTIONAL("a", SFT_F32, 254, 2) },
        { "usage.missing", SFT_REQUIRED("", SFT_F32, 1, 2) },
        { "usage.dtype", SFT_REQUIRED("a", SFT_F16, 1, 2) },
        { "usage.rank", SFT_OPTIONAL("a", SFT_F32, 8, 2) },
        { "usage.rank", SFT_OPTIONAL("a", SFT_F32, 0, 0) },
        { "usage.shape", SFT_OPTIONAL("a", SFT_ANY_DTYPE, 1, 3) },
        { "", SFT_OPTIONAL("z", SFT_F32, 1, 2) },
        { "", SFT_REQUIRED("a", SFT_ANY_DTYPE, SFT_ANY_RANK, 0) },
        { "", SFT_REQUIRED("a", 0x3FFFFF, 1, SFT_ANY_SIZE) },
    };
    fresh();
    bad[0] = B;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int is_missing = strcmp(rows[i].request.name ? rows[i].request.name : "", "z") == 0;
        bad[1] = rows[i].request;
        FAILS(rows[i].code, sft_find(&model, bad, tensors, 2, window, 64, ERROR));
        CHECK(error_of_call.request == (rows[i].code[0] != 0 ? 1 : -1));
        memset(tensors, 0xA5, sizeof tensors);
        FAILS(rows[i].code, sft_open(&new_model, &storage, bad, tensors, 2, window, 64, ERROR));
        CHECK(error_of_call.request == (rows[i].code[0] != 0 ? 1 : -1));
        /* No tensor stays usable after an error. */
        CHECK((tensors[0].dtype != 0) == (rows[i].code[0] == 0));
        CHECK((tensors[1].dtype != 0) == (rows[i].code[0] == 0 && !is_missing));
        FAILS(rows[i].code[0] ? "c.state" : "", sft_find(&new_model, &B, tensors, 1, window, 64, ERROR));
    }
    /* The same tensor may be requested more than once. */
    bad[0] = bad[1] = A;
    PASSES(sft_open(&new_model, &storage, bad, tensors, 2, window, 64, ERROR));
    CHECK(tensors[0].offset == DATA && tensors[1].offset == DATA && tensors[1].elements == 2);
}

static void storages_of_open(void)
{
    const struct { const char *code; sft_storage storage; } rows[] = {
        { "c.storage", sft_callbacks(NULL, &reader, FILE_LEN, SFT_LEN_EXACT) },
        { "c.storage", sft_callbacks(NULL, &reader, FILE_LEN, SFT_LEN_UNKNOWN) },
        { "c.storage", sft_callbacks(read_device, &reader, FILE_LEN, UINT32_MAX) },
        { "c.null", sft_memory(NULL, 1) },
        { "c.length", sft_memory(file, SIZE_MAX) },
        { "container.short", sft_memory(NULL, 0) },
        { "data.short", sft_memory(file, FILE_LEN - 1) },
        /* `read` is not used for a file in memory. */
        { "", sft_callbacks(read_device, file, FILE_LEN, SFT_LEN_MEMORY) },
        { "data.short", sft_callbacks(read_device, &reader, FILE_LEN - 1, SFT_LEN_AT_MOST) },
        { "container.short", sft_callbacks(read_device, &reader, 0, SFT_LEN_EXACT) },
        { "data.trailing", sft_callbacks(read_device, &reader, UINT64_MAX, SFT_LEN_EXACT) },
        { "", sft_callbacks(read_device, &reader, UINT64_MAX, SFT_LEN_AT_MOST) },
    };
    size_t i;
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fresh();
        FAILS(rows[i].code, sft_open(&new_model, &rows[i].storage, both, tensors, 2, window, 64, ERROR));
        CHECK((tensors[0].dtype == 0) == (rows[i].code[0] != 0));
        CHECK(i > 7 || reader.calls == 0);
        FAILS(rows[i].code, sft_open_unordered(&new_model, &rows[i].storage, slots, 4, window, 64, ERROR));
    }
}

/* Two tensors of one name: a text of any length is enough to compare them, and an empty one is not. */
static void duplicates(void)
{
    static const char TWICE[] = "........{\"12345678\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                                "\"12345678\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}";
    uint8_t twice[sizeof TWICE - 1];
    storage = sft_memory(twice, sizeof twice);
    memcpy(twice, TWICE, sizeof twice);
    memset(twice, 0, 8);
    twice[0] = (uint8_t)(sizeof twice - 8);
    PASSES(sft_open(&model, &storage, NULL, NULL, 0, window, 64, ERROR));
    FAILS("limit.text", sft_validate_names(&model, NULL, slots, 4, NULL, 0, window, 64, ERROR));
    FAILS("name.duplicate", sft_validate_names(&model, NULL, slots, 4, text, 1, window, 64, ERROR));
}

/* Reads as `read_device`, and nothing beyond the length. */
static size_t partition_len;

static int32_t read_partition(void *context, uint64_t offset, void *buffer, size_t len)
{
    CHECK(offset < partition_len && len <= partition_len - offset);
    return read_device(context, offset, buffer, len);
}

/* A callback is not asked for what is outside of its partition. */
static void partitions(void)
{
    fresh();
    for (partition_len = 0; partition_len <= FILE_LEN; partition_len++) {
        const char *code = partition_len < 8 ? "container.short"
                           : partition_len < DATA ? "container.header-beyond-file"
                                                  : partition_len < FILE_LEN ? "data.short" : "";
        storage = sft_callbacks(read_partition, &reader, partition_len, SFT_LEN_AT_MOST);
        FAILS(code, sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
        storage.len_is = SFT_LEN_EXACT;
        FAILS(code, sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
    }
}

/* Arguments that may be NULL, and those of a single function. */
static void other_arguments(void)
{
    int is_found[2] = { 5, 5 }, visited = 0;
    uint64_t key[3] = { 1, 2, 3 };
    fresh();
    FAILS("c.null", sft_for_each(&model, NULL, NULL, text, 64, window, 64, ERROR));
    FAILS("limit.name", sft_for_each(&model, visit_nothing, &visited, NULL, 0, window, 64, ERROR));
    CHECK(visited == 0);
    PASSES(sft_for_each(&model, visit_nothing, &visited, text, 1, window, 1, ERROR));
    CHECK(visited == 2);
    PASSES(sft_validate_names(&model, key, slots, 4, text, 64, window, 64, ERROR));
    FAILS("c.aligned", sft_validate_names(&model, ASKEW(uint64_t, key), slots, 4, text, 64, window, 64, ERROR));
    FAILS("c.null", sft_metadata(&model, NULL, text, 64, is_found, window, 64, ERROR));
    FAILS("c.utf8", sft_metadata(&model, NOT_UTF8, text, 64, is_found, window, 64, ERROR));
    FAILS("limit.value", sft_metadata(&model, "key", text, 5, is_found, window, 64, ERROR));
    FAILS("c.text", sft_metadata(&model, "key", text, 0, is_found, window, 64, ERROR));
    CHECK(is_found[0] == 5);
    FAILS("c.aligned", sft_metadata(&model, "key", text, 64, ASKEW(int, is_found), window, 64, ERROR));
    PASSES(sft_metadata(&model, "key", text, 6, is_found, window, 64, ERROR));
    CHECK(is_found[0] == 1 && strcmp(text, "value") == 0);
    PASSES(sft_metadata(&model, "kez", text, 1, is_found, window, 64, ERROR));
    CHECK(is_found[0] == 0 && text[0] == 0);
    FAILS("c.overlap", sft_metadata(&model, "key", text, 64, (int *)(void *)((char *)&model + 8), window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&model, "key", (char *)is_found, 4, is_found, window, 64, ERROR));
    memcpy(text, "key", 4);
    FAILS("c.overlap", sft_metadata(&model, text, text, 64, is_found, window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&model, text, text + 3, 8, is_found, window, 64, ERROR));
    FAILS("c.overlap", sft_metadata(&model, text, (char *)numbers, 8, is_found, text, 64, ERROR));
    PASSES(sft_metadata(&model, text, text + 4, 8, is_found, window, 64, ERROR));
    CHECK(is_found[0] == 1 && strcmp(text, "key") == 0 && strcmp(text + 4, "value") == 0);
    PASSES(sft_verify_crc32(&model, CRC, window, 64, ERROR));
    FAILS("usage.conversion", sft_read_i8(&model, &found[0], 0, (int8_t *)text, 1, ERROR));
    FAILS("usage.conversion", sft_read_u8(&model, &found[0], 0, NULL, 0, ERROR));
    /* No array overlaps with one of length 0. */
    PASSES(sft_find(&model, NULL, (sft_tensor *)(void *)AT, 0, AT, 64, ERROR));
    PASSES(sft_recorder_begin(&new_written, &sink, NULL, 0, NULL, 0, shared.words + 16, 0, AT, 64, ERROR));
}

/* The memory that an error asks for is enough, with the final 0. */
static void memory_of_values(void)
{
    char sentence[200];
    size_t len;
    fresh();
    for (len = 1; len < sizeof "value"; len++) {
        FAILS("limit.value", sft_metadata(&model, "key", text, len, NULL, window, 64, ERROR));
        sft_error_sentence(ERROR, sentence, sizeof sentence);
        CHECK(strstr(sentence, "the value: 6 ") != NULL);
    }
    PASSES(sft_metadata(&model, "key", text, 6, NULL, window, 64, ERROR));
}

/* Tensors that the program has changed. */
static void forged_tensors(void)
{
    sft_tensor it;
    float out[2];
    fresh();
#define FORGED(code, change) \
    do { \
        it = found[0]; \
        change; \
        FAILS(code, sft_read_f32(&model, &it, 0, out, 2, ERROR)); \
        FAILS(code, sft_read_bytes(&model, &it, 0, out, 8, ERROR)); \
    } while (0)
    FORGED("", (void)0);
    FORGED("", it.elements = 7);
    FORGED("c.tensor", memset(it.private_, 0xA5, sizeof it.private_));
    FORGED("", memset(it.private_, 0, sizeof it.private_)); /* as of a tensor that the program describes itself */
    FORGED("c.missing", it.dtype = 0);
    FORGED("c.dtype", it.dtype = SFT_F32 | SFT_I32);
    FORGED("c.dtype", it.dtype = UINT32_C(1) << 22);
    FORGED("c.dtype", it.dtype = UINT32_C(1) << 31);
    FORGED("c.rank", it.rank = UINT32_MAX);
    FORGED("c.tensor", it.rank = 0);
    FORGED("c.tensor", it.bytes = 9);
    FORGED("c.tensor", it.bytes = 0);
    FORGED("c.tensor", it.dtype = SFT_F64);
    FORGED("c.tensor", it.shape[0] = 3);
    FORGED("c.tensor", it.shape[0] = UINT64_MAX);
    FORGED("c.tensor", it.bytes = UINT64_MAX);
    FORGED("c.tensor", it.offset = 0);
    FORGED("c.tensor", it.offset = DATA - 1);
    FORGED("usage.tensor", it.offset = UINT64_MAX);
    FORGED("usage.tensor", it.offset = FILE_LEN);
    FORGED("usage.tensor", it.offset = FILE_LEN - 7);
#undef FORGED
    /* A tensor that fits is read: the bytes of the file are the caller's. */
    it = found[0];
    it.offset += 3;
    PASSES(sft_read_bytes(&model, &it, 0, out, 8, ERROR));
}

/* ---- Callbacks of storage ---------------------------------------------------------------------------- */

/* Opens, searches, lists and reads, through small windows. Returns the first status that is not SFT_OK. */
static sft_status everything(device *it)
{
    const sft_storage storage = storage_of(it);
    int visited = 0;
    sft_status status = sft_open(&model, &storage, both, tensors, 2, window, 16, ERROR);
    THEN(sft_find(&model, both, tensors, 2, window, 16, ERROR));
    THEN(sft_for_each(&model, visit_nothing, &visited, text, 64, window, 16, ERROR));
    THEN(sft_validate_names(&model, NULL, slots, 2, text, 64, window, 16, ERROR));
    THEN(sft_metadata(&model, "key", text, 64, NULL, window, 16, ERROR));
    THEN(sft_read_f32(&model, &tensors[0], 0, of_a, 2, ERROR));
    CHECK(status != SFT_OK || (of_a[0] == 1 && of_a[1] == 2));
    THEN(sft_read_bytes(&model, &tensors[0], 0, of_a, 8, ERROR));
    THEN(sft_verify_sha256(&model, sum, window, 16, ERROR));
    return status;
}

static void bad_reads(void)
{
    static const struct { const char *code; int32_t returns; } ROWS[] = {
        { "storage.end", 0 },           { "storage.failed", -7 },     { "storage.failed", INT32_MIN },
        { "storage.count", INT32_MAX }, { "storage.count", ONE_MORE },
    };
    int calls, call, reads_of_open;
    size_t i;
    fresh();
    storage = storage_of(&reader);
    PASSES(sft_open(&model, &storage, NULL, NULL, 0, window, 16, ERROR));
    /* A file that ends while it is opened is one that is too short, whatever its length is said to be. */
    reads_of_open = reader.calls;
    for (call = 1; call <= reads_of_open; call++) {
        reader.calls = 0;
        reader.wrong_call = call;
        FAILS(call == 1 ? "container.short" : "container.header-beyond-file",
              sft_open(&model, &storage, NULL, NULL, 0, window, 16, ERROR));
    }
    fresh();
    FAILS("integrity.sum", everything(&reader));
    calls = reader.calls;
    CHECK(calls > 40);
    for (call = 1; call <= calls; call++) {
        for (i = call > reads_of_open ? 0 : 1; i < sizeof ROWS / sizeof ROWS[0]; i++) {
            reader.calls = 0;
            reader.wrong_call = call;
            reader.returns = ROWS[i].returns;
            FAILS(ROWS[i].code, everything(&reader));
            CHECK(reader.calls == call && error_of_call.at < FILE_LEN);
            CHECK(reader.returns == ONE_MORE ? error_of_call.storage > 0 && error_of_call.storage <= 65
                                             : error_of_call.storage == reader.returns);
        }
    }
}

/* ---- Receivers --------------------------------------------------------------------------------------- */

static void receivers(void)
{
    int8_t b[3];
    memset(&receiver, 0xA5, sizeof receiver);
    CHECK(sft_receiver_remaining(&receiver) == 0 && sft_receiver_remaining(NULL) == 0);
    CHECK(sft_receiver_remaining(ASKEW(sft_receiver, &place)) == 0);
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_f32(&receiver, &A, of_a, 2, ERROR));
    FAILS("c.overlap", sft_receiver_add_bytes(&receiver, &A, &targets[1], 8, ERROR));
    FAILS("c.overlap", sft_receiver_add_f32(&receiver, &A, of_a + 1, 1, ERROR));
    FAILS("c.overlap", sft_receiver_add_bytes(&receiver, &B, of_a, 1, ERROR));
    PASSES(sft_receiver_add_i8(&receiver, &B, b, 3, ERROR));
    FAILS("c.targets", sft_receiver_add_i8(&receiver, &B, b, 3, ERROR));
    FAILS("c.targets", sft_receiver_tensor(&receiver, 2, tensors, ERROR));
    PASSES(sft_receiver_tensor(&receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == 0 && sft_receiver_remaining(&receiver) == 8);
    /* These two do not end the adding. */
    FAILS("c.targets", sft_receiver_add_i8(&receiver, &B, b, 3, ERROR));
    PASSES(sft_receiver_push(&receiver, NULL, 0, ERROR));
    PASSES(sft_receiver_push(&receiver, file, 10, ERROR));
    FAILS("c.added", sft_receiver_add_i8(&receiver, &B, b, 3, ERROR));
    FAILS("c.targets", sft_receiver_tensor(&receiver, 2, tensors, ERROR));
    FAILS("c.targets", sft_receiver_tensor(&receiver, SIZE_MAX, tensors, ERROR));
    PASSES(sft_receiver_tensor(&receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == 0);
    PASSES(sft_receiver_push(&receiver, file + 10, FILE_LEN - 10, ERROR));
    CHECK(sft_receiver_remaining(&receiver) == 0);
    PASSES(sft_receiver_end(&receiver, ERROR));
    PASSES(sft_receiver_end(&receiver, ERROR));
    PASSES(sft_receiver_tensor(&receiver, 1, tensors, ERROR));
    CHECK(tensors[0].dtype == SFT_I8 && tensors[0].offset == DATA + 8 && b[0] == -1 && of_a[1] == 2);
    FAILS("data.trailing", sft_receiver_push(&receiver, file, 1, ERROR));
    FAILS("data.trailing", sft_receiver_end(&receiver, ERROR));
}

/* Files that are not received, and targets that do not fit. */
static void rejected_files(void)
{
    int8_t small[2] = { 0, 0 };
    uint8_t bytes[8] = { 0 };
    size_t cut;
    memset(of_a, 0, sizeof of_a);
    for (cut = 0; cut < FILE_LEN; cut++) {
        const char *code = cut < 8 ? "container.short" : cut < DATA ? "container.header-beyond-file" : "data.short";
        PASSES(sft_receiver_begin(&receiver, NULL, 0, ERROR));
        PASSES(sft_receiver_push(&receiver, file, cut, ERROR));
        CHECK(sft_receiver_remaining(&receiver) > 0);
        FAILS(code, sft_receiver_end(&receiver, ERROR));
        FAILS(code, sft_receiver_push(&receiver, file + cut, FILE_LEN - cut, ERROR));
        CHECK(sft_receiver_remaining(&receiver) == 0);
    }
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_f32(&receiver, &A, of_a, 2, ERROR));
    PASSES(sft_receiver_add_i8(&receiver, &B, small, 2, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    FAILS("limit.buffer", sft_receiver_end(&receiver, ERROR));
    CHECK(of_a[0] == 0 && small[0] == 0);
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_bytes(&receiver, &A, bytes, 7, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_i8(&receiver, &A, small, 2, ERROR));
    FAILS("usage.conversion", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    PASSES(sft_receiver_begin(&receiver, targets, 2, ERROR));
    PASSES(sft_receiver_add_bytes(&receiver, &A, NULL, 0, ERROR));
    FAILS("limit.buffer", sft_receiver_push(&receiver, file, FILE_LEN, ERROR));
    CHECK(of_a[0] == 0 && small[0] == 0 && bytes[0] == 0);
}

/* ---- Recorders --------------------------------------------------------------------------------------- */

/* Begins a recorder with one thing changed; `about` is the number of the tensor or pair of the error. */
#define BEGINS(code, change) BEGINS_AT(code, -1, change)
#define BEGINS_AT(code, about, change) \
    do { \
        sft_pair two[2]; \
        size_t count = 2, pair_count = 1, words = 22, len = sizeof new_buffer; \
        fresh(); \
        two[0] = two[1] = PAIRS[0]; \
        change; \
        FAILS(code, sft_recorder_begin(&new_written, &sink, specs, count, two, pair_count, more, words, new_buffer, \
                                       len, ERROR)); \
        CHECK(error_of_call.request == (about)); \
        FAILS((code)[0] ? "c.state" : "", sft_recorder_write_bytes(&new_written, "", 0, ERROR)); \
    } while (0)

static void beginnings(void)
{
    uint64_t more[22];
    BEGINS("", words = WORDS);
    BEGINS("c.memory", words = WORDS - 1);
    BEGINS("c.storage", sink.write = NULL);
    BEGINS("c.storage", sink.unit = 0);
    BEGINS("c.storage", sink.unit = 3);
    BEGINS("c.storage", sink.unit = SIZE_MAX);
    BEGINS("c.storage", (sink.unit = 16, sink.prepare = NULL));
    BEGINS("limit.buffer", sink.unit = 128);
    BEGINS("", sink.unit = 64);
    BEGINS("limit.capacity", sink.capacity = 20);
    BEGINS_AT("c.null", 1, specs[1].name = NULL);
    BEGINS_AT("c.utf8", 0, specs[0].name = NOT_UTF8);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = 0);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = SFT_F32 | SFT_I8);
    BEGINS_AT("c.dtype", 0, specs[0].dtype = UINT32_C(1) << 22);
    BEGINS_AT("c.rank", 0, specs[0].rank = 9);
    BEGINS_AT("c.rank", 0, specs[0].rank = UINT32_MAX);
    BEGINS_AT("usage.overflow", 0, specs[0].shape[0] = UINT64_MAX);
    BEGINS_AT("usage.name", 1, specs[1].name = "a");
    BEGINS_AT("usage.order", 1, (specs[0].dtype = SFT_I8, specs[1].dtype = SFT_F32));
    BEGINS_AT("c.null", 0, two[0].key = NULL);
    BEGINS_AT("c.null", 0, two[0].value = NULL);
    BEGINS_AT("c.utf8", 0, two[0].key = NOT_UTF8);
    BEGINS_AT("c.utf8", 0, two[0].value = NOT_UTF8);
    BEGINS_AT("usage.key", 1, pair_count = 2);
    BEGINS_AT("usage.order", 1,
              (two[1].key = "kex", two[1].value = "", pair_count = 2));
    BEGINS("limit.buffer", len = 7);
    BEGINS("", len = 8);
    BEGINS("", count = 0);
    BEGINS("", pair_count = 0);
    BEGINS("", count = pair_count = words = 0);
}

/* Records the file, and returns the first status that is not SFT_OK. */
static sft_status record(device *it, size_t unit)
{
    static const float a[2] = { 1, 2 };
    static const int8_t b[3] = { -1, 0, 1 };
    sft_sink sink = sink_of(it);
    sft_status status;
    sink.unit = unit;
    status = sft_recorder_begin(&written, &sink, SPECS, 2, PAIRS, 1, memory, WORDS, buffer, unit > 8 ? 32 : 8,
                                ERROR);
    THEN(sft_recorder_write_f32(&written, a, 2, ERROR));
    THEN(sft_recorder_write_i8(&written, b, 3, ERROR));
    return status != SFT_OK ? status : sft_recorder_finish(&written, ERROR);
}

/* Stores the file, up to this length. */
static sft_status store_part(device *it, size_t unit, size_t len)
{
    sft_sink sink = sink_of(it);
    const size_t units_len = unit > 8 ? 2 * unit : 16;
    sft_status status;
    sink.unit = unit;
    status = sft_file_receiver_begin(&stored, &sink, FILE_LEN, both, stored_tensors, 2, units, units_len, ERROR);
    THEN(sft_file_receiver_push(&stored, file, len / 2, ERROR));
    THEN(sft_file_receiver_push(&stored, file + len / 2, len - len / 2, ERROR));
    return status != SFT_OK ? status : sft_file_receiver_finish(&stored, ERROR);
}

static sft_status store_file(device *it, size_t unit)
{
    return store_part(it, unit, FILE_LEN);
}

/* The flash has the file, in front of its padding. */
static void has_file(void)
{
    int8_t of_b[3];
    storage = sft_memory(chip.bytes, 8 + chip.bytes[0] + 256u * chip.bytes[1] + 11);
    PASSES(sft_open(&model, &storage, both, tensors, 2, window, 64, ERROR));
    PASSES(sft_read_f32(&model, &tensors[0], 0, of_a, 2, ERROR));
    PASSES(sft_read_i8(&model, &tensors[1], 0, of_b, 3, ERROR));
    CHECK(of_a[0] == 1 && of_a[1] == 2 && of_b[0] == -1 && of_b[2] == 1);
}

static void bad_writes(sft_status (*write_file)(device *it, size_t unit))
{
    static const struct { const char *code; int32_t returns; } ROWS[] = {
        { "storage.failed", -7 },  { "storage.failed", INT32_MIN }, { "storage.count", INT32_MAX },
        { "storage.count", 1000 }, { "storage.full", 0 },
    };
    size_t unit, i;
    int calls, call;
    memset(&written, 0, sizeof written);
    memset(&stored, 0, sizeof stored);
    memset(stored_tensors, 0, sizeof stored_tensors);
    for (unit = 1; unit <= 32; unit *= 2) {
        memset(&chip, 0, sizeof chip);
        PASSES(write_file(&chip, unit));
        has_file();
        FAILS("c.state", sft_recorder_finish(&written, ERROR));
        FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
        calls = chip.calls;
        CHECK(calls >= 5);
        for (call = 1; call <= calls; call++) {
            for (i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
                const char *expected;
                sft_status status;
                char code[SFT_CODE_LEN] = "";
                memset(&chip, 0, sizeof chip);
                chip.wrong_call = call;
                chip.returns = ROWS[i].returns;
                status = write_file(&chip, unit);
                /* To prepare and to flush return 0; every other number is an error. */
                expected = chip.is_write ? ROWS[i].code : "storage.failed";
                if (status == SFT_OK) {
                    CHECK(ROWS[i].returns == 0 && !chip.is_write && chip.calls == calls);
                    continue;
                }
                sft_error_code(&error_of_call, code, sizeof code);
                CHECK(status == SFT_STORAGE && strcmp(code, expected) == 0 && chip.calls == call);
                CHECK(error_of_call.storage == chip.returns);
                /* The file is valid only after SFT_OK; a last flush that fails comes after its last byte. */
                CHECK(chip.bytes[7] != 0 || call == calls);
                FAILS("c.state", sft_recorder_write_bytes(&written, "", 0, ERROR));
                FAILS("c.state", sft_recorder_finish(&written, ERROR));
                FAILS("c.state", sft_file_receiver_push(&stored, file, 1, ERROR));
                FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
                CHECK(stored_tensors[0].dtype == 0 && stored_tensors[1].dtype == 0);
            }
        }
    }
}

/* A count that is not a multiple of the unit is an error. */
static void parts_of_units(void)
{
    int32_t part;
    for (part = 1; part < 8; part++) {
        memset(&chip, 0, sizeof chip);
        chip.wrong_call = 2;
        chip.returns = part;
        FAILS(part == 4 ? "" : "storage.count", record(&chip, 4));
    }
}

static void misused_recorders(void)
{
    static const float a[3] = { 1, 2, 3 };
    static const int8_t b[4] = { 1, 2, 3, 4 };
    fresh();
    PASSES(sft_recorder_begin(&new_written, &sink, SPECS, 2, PAIRS, 1, new_memory, WORDS, buffer, 32, ERROR));
    FAILS("usage.bytes", sft_recorder_write_f32(&new_written, a, 3, ERROR));
    FAILS("usage.bytes", sft_recorder_write_bytes(&new_written, a, 9, ERROR));
    PASSES(sft_recorder_write_bytes(&new_written, a, 1, ERROR));
    /* The first element is incomplete. */
    FAILS("usage.bytes", sft_recorder_write_f32(&new_written, a, 2, ERROR));
    PASSES(sft_recorder_write_bytes(&new_written, a, 7, ERROR));
    PASSES(sft_recorder_write_bytes(&new_written, NULL, 0, ERROR));
    FAILS("usage.bytes", sft_recorder_write_i8(&new_written, b, 4, ERROR));
    PASSES(sft_recorder_write_i8(&new_written, b, 2, ERROR));
    FAILS("usage.incomplete", sft_recorder_finish(&new_written, ERROR));
    FAILS("c.state", sft_recorder_write_i8(&new_written, b, 1, ERROR));
    CHECK(chip.bytes[7] == 0xFF);
    PASSES(sft_recorder_begin(&new_written, &sink, SPECS, 2, PAIRS, 1, new_memory, WORDS, buffer, 32, ERROR));
    PASSES(sft_recorder_write_f32(&new_written, a, 2, ERROR));
    PASSES(sft_recorder_write_i8(&new_written, b, 3, ERROR));
    FAILS("usage.complete", sft_recorder_write_i8(&new_written, b, 1, ERROR));
    PASSES(sft_recorder_finish(&new_written, ERROR));
}

static void writers_in_callbacks(void)
{
    memset(&chip, 0, sizeof chip);
    chip.wrong_call = -1;
    chip.call = use_again;
    chip.object = &written;
    chip.size = sizeof written;
    called = 0;
    PASSES(record(&chip, 8));
    CHECK(called == chip.calls && called >= 5);
    /* The file is as without these calls. */
    has_file();
    chip.object = &stored;
    chip.size = sizeof stored;
    chip.calls = called = 0;
    PASSES(store_file(&chip, 8));
    CHECK(called == chip.calls && called >= 5 && memcmp(chip.bytes, file, FILE_LEN) == 0);
}

/* ---- Files that are stored ----------------------------------------------------------------------------- */

static void beginnings_of_files(void)
{
    sft_request requests[2];
#define BEGINS_FILE(code, len, requests, buffer_len) \
    FAILS(code, sft_file_receiver_begin(&new_stored, &sink, len, requests, tensors, 2, new_buffer, buffer_len, ERROR))
    fresh();
    BEGINS_FILE("limit.buffer", FILE_LEN, both, 7);
    BEGINS_FILE("container.short", 7, both, 32);
    BEGINS_FILE("limit.capacity", 513, both, 32);
    CHECK(tensors[0].dtype == 0 && tensors[1].dtype == 0 && chip.calls == 0);
    requests[0] = requests[1] = A;
    requests[1].rank = 9;
    BEGINS_FILE("c.rank", FILE_LEN, requests, 32);
    sink.unit = SIZE_MAX / 2 + 1;
    BEGINS_FILE(sizeof(size_t) > 4 ? "c.storage" : "limit.buffer", FILE_LEN, both, 32);
    FAILS("c.state", sft_file_receiver_push(&new_stored, file, 0, ERROR));
#undef BEGINS_FILE
}

/* Without its last bytes no file is valid, nor with too many. A receiver that has ended takes no more. */
static void misused_file_receivers(void)
{
    size_t cut;
    fresh();
    for (cut = 0; cut < FILE_LEN; cut++) {
        memset(&chip, 0, sizeof chip);
        FAILS(cut < 8 ? "container.short" : cut < DATA ? "container.header-beyond-file" : "data.short",
              store_part(&chip, 1, cut));
        CHECK(chip.bytes[7] == 0xFF && stored_tensors[0].dtype == 0 && stored_tensors[1].dtype == 0);
        FAILS("c.state", sft_file_receiver_push(&stored, file + cut, 1, ERROR));
    }
    PASSES(store_file(&chip, 1));
    CHECK(stored_tensors[1].offset == DATA + 8 && memcmp(chip.bytes, file, FILE_LEN) == 0);
    PASSES(sft_file_receiver_begin(&stored, &sink, FILE_LEN, both, stored_tensors, 2, buffer, 16, ERROR));
    PASSES(sft_file_receiver_push(&stored, file, FILE_LEN, ERROR));
    FAILS("data.trailing", sft_file_receiver_push(&stored, file, 1, ERROR));
    FAILS("c.state", sft_file_receiver_finish(&stored, ERROR));
    CHECK(chip.bytes[7] == 0xFF && stored_tensors[0].dtype == 0);
}

static void verifiers(void)
{
    fresh();
    PASSES(sft_verifier_update(&verifier, file, FILE_LEN, ERROR));
    FAILS("usage.sum", sft_verifier_verify(&verifier, ERROR));
    FAILS("c.state", sft_verifier_verify(&verifier, ERROR));
    PASSES(sft_verifier_begin(&verifier, ERROR));
    FAILS("container.short", sft_verifier_verify(&verifier, ERROR));
    FAILS("c.state", sft_verifier_update(&verifier, file, 1, ERROR));
}

/* The sentence says which element of which table is not valid. */
static void sentences_of_tables(void)
{
    const sft_request requests[2] = { A, SFT_REQUIRED(NULL, SFT_F32, 1, 2) };
    fresh();
    specs[0].name = NULL;
    pairs[0].value = NULL;
#define SAYS(sentence, call) \
    do { \
        char said[80]; \
        FAILS("c.null", call); \
        sft_error_sentence(ERROR, said, sizeof said); \
        CHECK(strcmp(said, "error[c.null]: " sentence ": a pointer is NULL") == 0); \
    } while (0)
    SAYS("requests[1]", sft_open(&new_model, &storage, requests, tensors, 2, window, 64, ERROR));
    SAYS("specs[0]", sft_recorder_begin(&new_written, &sink, specs, 1, NULL, 0, new_memory, 5, new_buffer, 8, ERROR));
    SAYS("pairs[0]", sft_recorder_begin(&new_written, &sink, NULL, 0, pairs, 1, new_memory, 4, new_buffer, 8, ERROR));
#undef SAYS
}

int main(void)
{
    make_file();
    both[0] = A;
    both[1] = B;
    error_texts();
    wrong_arguments();
    exact_overlaps();
    texts();
    values_of_each_type();
    calls_from_callbacks();
    other_models_in_callbacks();
    states_of_models();
    requests_of_open();
    storages_of_open();
    duplicates();
    partitions();
    other_arguments();
    memory_of_values();
    forged_tensors();
    bad_reads();
    receivers();
    rejected_files();
    beginnings();
    bad_writes(record);
    bad_writes(store_file);
    parts_of_units();
    misused_recorders();
    writers_in_callbacks();
    beginnings_of_files();
    misused_file_receivers();
    verifiers();
    sentences_of_tables();
    return checks_end("misuse");
}
