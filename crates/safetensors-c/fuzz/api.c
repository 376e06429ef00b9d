/* Any bytes as calls of the whole C API, with any file, storage and arguments that the header allows.
 *
 * The input is a plan and the parts of a file:
 *
 *     length of the plan / 4 (1 byte), the plan, the parts
 *
 * Everything that is chosen is taken from the plan, byte for byte; a plan that has ended is all zeros. The
 * parts are the file itself, its header, or what the names and data of a valid file are made of.
 *
 * Memory that is passed is allocated in its exact size, so that AddressSanitizer finds every byte beyond it;
 * there are guards before it, which are checked in the end. What must hold whatever the plan says is an
 * EXPECT. A panic of the library calls safetensors_panic_is_reachable.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

#define EXPECT(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

/* Where calls write their error. */
static sft_error *error;

static void fail(const char *condition, int line)
{
    char sentence[200] = "";
    sft_error_sentence(error, sentence, sizeof sentence);
    fprintf(stderr, "api.c:%d: not as expected: %s; the last error: %s\n", line, condition, sentence);
    abort();
}

void safetensors_panic_is_reachable(void);

/* The library's panic handler, with its feature no-panic. */
void safetensors_panic_is_reachable(void)
{
    fprintf(stderr, "the library panicked\n");
    abort();
}

/* ---- The plan ---------------------------------------------------------------------------------------- */

static const uint8_t *plan;
static size_t plan_left;

static uint8_t next(void)
{
    if (plan_left == 0) {
        return 0;
    }
    plan_left--;
    return *plan++;
}

static size_t below(size_t count)
{
    return next() % count;
}

static bool seldom(void)
{
    return next() >= 0xF0;
}

/* Returns a number, often a small one or one at a limit. */
static uint64_t number(void)
{
    uint64_t wide = 0;
    switch (next() & 15) {
    case 0:
        return UINT64_MAX - next();
    case 1:
        return (UINT64_C(1) << below(64)) - (next() & 1);
    case 2:
        for (int index = 0; index < 8; index++) {
            wide = wide << 8 | next();
        }
        return wide;
    case 3:
        return (uint64_t)next() << 8 | next();
    case 4:
    case 5:
    case 6:
        return next();
    default:
        return next() & 7;
    }
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

#define MOST_BLOCKS 8192
#define GUARD 16
#define GUARD_BYTE 0xA5
#define FILL 0xC3

/* What is lent until the end of an input. */
static struct block {
    uint8_t *allocated;
    uint8_t *memory;
} blocks[MOST_BLOCKS];
static size_t block_count;

/* Returns memory that begins `shift` bytes after an aligned address. */
static void *lend_at(size_t shift, size_t len)
{
    EXPECT(block_count < MOST_BLOCKS);
    struct block *block = &blocks[block_count++];
    block->allocated = malloc(GUARD + shift + len);
    EXPECT(block->allocated != NULL);
    memset(block->allocated, GUARD_BYTE, GUARD + shift);
    block->memory = block->allocated + GUARD + shift;
    memset(block->memory, FILL, len);
    return block->memory;
}

/* Returns memory for values of any type. */
static void *lend(size_t len)
{
    return lend_at(0, len);
}

/* Returns memory for bytes, at any address; for none, also a null pointer. */
static void *lend_bytes(size_t len)
{
    if (len == 0 && (block_count & 1)) {
        return NULL;
    }
    return lend_at(block_count % 8, len);
}

static void *copy(const void *bytes, size_t len)
{
    void *to = lend_bytes(len);
    if (len > 0) {
        memcpy(to, bytes, len);
    }
    return to;
}

static bool is_filled(const void *memory, size_t len, uint8_t with)
{
    const uint8_t *bytes = memory;
    for (size_t index = 0; index < len; index++) {
        if (bytes[index] != with) {
            return false;
        }
    }
    return true;
}

static void take_back_all(void)
{
    while (block_count > 0) {
        const struct block *block = &blocks[--block_count];
        size_t before = (size_t)(block->memory - block->allocated);
        EXPECT(is_filled(block->allocated, before, GUARD_BYTE));
        free(block->allocated);
    }
}

/* ---- Arguments ---------------------------------------------------------------------------------------- */

/* The pointer that is wrong in the next call, counted from 0; and whether it was passed. */
static size_t wrong_pointer;
static bool wrong_is_null, was_wrong;

static void choose_wrong_pointer(void)
{
    size_t chosen = next();
    was_wrong = false;
    wrong_is_null = chosen & 1;
    wrong_pointer = chosen < 0xE0 ? SIZE_MAX : (chosen >> 1 & 7);
}

/* Returns a pointer to `count` values of a type with more than one byte, or the wrong one. */
static void *values(const void *pointer, size_t count)
{
    if (count == 0 || wrong_pointer-- != 0) {
        return (void *)(uintptr_t)pointer;
    }
    was_wrong = true;
    return wrong_is_null ? NULL : (void *)((uintptr_t)pointer | 1);
}

static void *object(const void *pointer)
{
    return values(pointer, 1);
}

/* As values, for bytes, which cannot be misaligned. */
static void *bytes(const void *pointer, size_t count)
{
    if (count == 0 || wrong_pointer-- != 0) {
        return (void *)(uintptr_t)pointer;
    }
    was_wrong = true;
    return NULL;
}

/* ---- Errors ------------------------------------------------------------------------------------------ */

/* What was passed for the error. */
static sft_error *passed;

/* Returns where the next call writes its error. */
static sft_error *report(void)
{
    memset(error, FILL, sizeof *error);
    switch (next()) {
    case 0xFE:
        return passed = NULL;
    case 0xFF:
        return passed = (sft_error *)((uintptr_t)error | 1);
    default:
        return passed = error;
    }
}

typedef size_t text_function(const sft_error *, char *, size_t);

/* Checks that a text is the beginning of the whole one. */
static void check_text(text_function *function, const sft_error *about)
{
    char whole[1024];
    size_t full = function(about, whole, sizeof whole), len = below(80);
    EXPECT(full > 0 && full < sizeof whole && strlen(whole) == full);
    char *cut = lend_bytes(len);
    EXPECT(function(about, cut, len) == full);
    if (len > 0) {
        size_t shown = full < len - 1 ? full : len - 1;
        EXPECT(memcmp(cut, whole, shown) == 0 && cut[shown] == 0);
    }
    EXPECT(function(about, NULL, 0) == full && function(about, NULL, 8) == 0);
}

static bool has_code(const char *code)
{
    char text[SFT_CODE_LEN];
    sft_error_code(error, text, sizeof text);
    return strcmp(text, code) == 0;
}

static bool has_code_of(const char *area)
{
    char text[SFT_CODE_LEN];
    sft_error_code(error, text, sizeof text);
    return strncmp(text, area, strlen(area)) == 0;
}

/* Checks what a function returned that was told about `requests` requests, tensors or pairs. */
static bool succeeded(sft_status status, size_t requests)
{
    bool was_null_or_misaligned = was_wrong;
    was_wrong = false;
    wrong_pointer = SIZE_MAX;
    EXPECT(status >= SFT_OK && status <= SFT_STORAGE);
    EXPECT(!was_null_or_misaligned || status == SFT_USAGE);
    if (passed != error) {
        EXPECT(is_filled(error, sizeof *error, FILL));
        return status == SFT_OK;
    }
    if (status == SFT_OK) {
        EXPECT(has_code("no error"));
        return true;
    }
    EXPECT(error->request >= -1 && (error->request < 0 || (size_t)error->request < requests));
    EXPECT(status == SFT_STORAGE || error->storage == 0);
    EXPECT(status != SFT_STORAGE || has_code_of("storage."));
    EXPECT(!was_null_or_misaligned || has_code_of("c."));
    EXPECT(sft_error_code(error, NULL, 0) < SFT_CODE_LEN);
    check_text(sft_error_code, error);
    if (next() & 1) {
        check_text(sft_error_sentence, error);
    }
    return false;
}

/* Errors that no function has filled in, that were copied, or of which C has changed what it may. */
static void misuse_errors(void)
{
    sft_error *other = lend(sizeof *other);
    check_text(sft_error_code, NULL);
    check_text(sft_error_sentence, (const sft_error *)((uintptr_t)other | 1));
    check_text(sft_error_sentence, other);
    memcpy(other, error, sizeof *other);
    other->at = number();
    other->storage = (int32_t)(uint32_t)number();
    other->request = (int32_t)(uint32_t)number();
    check_text(sft_error_sentence, other);
    check_text(sft_error_code, other);
}

/* ---- The file ---------------------------------------------------------------------------------------- */

#define MOST_FILE 16384

/* The file, in memory of its size, and what it must still be in the end. */
static const uint8_t *file;
static size_t file_len;
static uint8_t original[MOST_FILE];

static const char *const DTYPES[] = {
    "BOOL",    "F4",          "F6_E2M3",     "F6_E3M2", "U8",  "I8",  "F8_E5M2", "F8_E4M3",
    "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16",     "U16", "F16", "BF16",    "I32",
    "U32",     "F32",         "C64",         "F64",     "I64", "U64",
};
static const uint8_t BITS[] = { 8, 4, 6, 6, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32, 32, 32, 64, 64, 64, 64 };
#define DTYPE_COUNT (sizeof BITS)

/* Returns the position of a dtype's bit. */
static size_t dtype_index(uint32_t dtype)
{
    size_t index = 0;
    while (index < DTYPE_COUNT && dtype != UINT32_C(1) << index) {
        index++;
    }
    EXPECT(index < DTYPE_COUNT);
    return index;
}

/* The parts of the file that are not used yet. */
static const uint8_t *parts;
static size_t parts_left;

static uint8_t part(void)
{
    if (parts_left == 0) {
        return 0;
    }
    parts_left--;
    return *parts++;
}

static void append(size_t *at, const char *text)
{
    size_t len = strlen(text);
    if (*at + len <= MOST_FILE) {
        memcpy(original + *at, text, len);
        *at += len;
    }
}

static void append_number(size_t *at, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    append(at, text);
}

/* Appends a name: a letter, or a few characters of the parts. */
static void append_name(size_t *at, size_t index)
{
    char name[16] = { (char)('a' + index % 26), 0 };
    size_t len = next() & 1 ? 0 : below(14);
    for (size_t letter = 0; letter < len; letter++) {
        uint8_t character = part() & 0x7F;
        name[letter] = (char)(character < ' ' || character == '"' || character == '\\' ? 'x' : character);
    }
    append(at, name);
}

/* Appends an entry that begins at byte `begin` of the data, and returns where it ends. */
static uint64_t append_entry(size_t *at, size_t index, uint64_t begin)
{
    size_t dtype = below(DTYPE_COUNT), rank = next() % 4;
    uint64_t elements = 1;
    append(at, "\"");
    append_name(at, index);
    append(at, "\":{\"dtype\":\"");
    append(at, DTYPES[dtype]);
    append(at, "\",\"shape\":[");
    for (size_t dim = 0; dim < rank; dim++) {
        uint64_t size = seldom() ? number() : 1 + next() % 6;
        append(at, dim > 0 ? "," : "");
        append_number(at, size);
        elements *= size;
    }
    uint64_t end = begin + (elements * BITS[dtype] + 7) / 8 + (seldom() ? next() : 0);
    append(at, "],\"data_offsets\":[");
    append_number(at, begin);
    append(at, ",");
    append_number(at, end);
    append(at, "]}");
    return end;
}

static void append_metadata(size_t *at)
{
    append(at, "\"__metadata__\":{\"format\":\"");
    append_name(at, 0);
    append(at, "\",\"safetensors.sha256\":\"");
    for (size_t digit = 0; digit < 63; digit++) {
        append(at, "0");
    }
    append(at, seldom() ? "x" : "0");
    append(at, "\"}");
}

/* Appends a header with entries that are valid for the most part, and returns how much data they have. */
static uint64_t append_header(size_t *at)
{
    uint64_t end = 0, begin = 0, stop;
    size_t count = next() % 8;
    bool has_metadata = next() & 1;
    append(at, "{");
    if (has_metadata) {
        append_metadata(at);
    }
    for (size_t index = 0; index < count; index++, begin = end) {
        append(at, index > 0 || has_metadata ? "," : "");
        stop = append_entry(at, index, seldom() ? number() : begin);
        end = stop > end ? stop : end;
    }
    append(at, "}");
    return end;
}

/* Writes the length of the header before it. */
static void prepend_len(size_t end)
{
    uint64_t len = end - 8 + (seldom() ? number() : 0);
    for (size_t index = 0; index < 8; index++) {
        original[index] = (uint8_t)(len >> 8 * index);
    }
}

static size_t make_file(void)
{
    size_t at = 8, kind = next() % 4, extra = 0;
    uint64_t data = 0;
    if (kind == 0) {
        at = 0;
        extra = parts_left;
    } else if (kind == 1) {
        data = number();
        extra = parts_left;
    } else {
        data = append_header(&at);
        while (at % 8 != 0 && kind == 2) {
            append(&at, " ");
        }
    }
    for (size_t index = 0; index < extra && at < MOST_FILE; index++) {
        original[at++] = part();
    }
    if (kind > 0) {
        prepend_len(at);
    }
    data = seldom() ? data + number() - 4 : data;
    for (uint64_t index = 0; index < data && index < 4096 && at < MOST_FILE; index++) {
        original[at++] = parts_left > 0 ? part() : (uint8_t)(37 * index);
    }
    for (size_t changes = seldom() ? 1 + below(4) : 0; changes > 0 && at > 0; changes--) {
        original[((size_t)next() << 8 | next()) % at] ^= (uint8_t)(1u << below(8));
    }
    return at;
}

/* ---- Storage ------------------------------------------------------------------------------------------ */

#define BEHAVIOURS 8

/* A file read through callbacks, and the model that reads it. */
struct device {
    const uint8_t *file;
    uint64_t len;
    sft_model *model;
    /* What it does at each call, over and over. */
    uint8_t behaviours[BEHAVIOURS];
    size_t calls;
    /* How often it has not done what the header demands. */
    size_t lies;
    /* Whether the file has as many bytes as the library was told. */
    bool has_len;
    bool is_exact;
    uint64_t exact_len;
};

struct opened {
    sft_model *model;
    struct device *device;
    bool is_open;
};

#define MODELS 2
static struct opened models[MODELS];
static int depth;

/* Uses the object of the call that is running. */
static void call_again(sft_model *model)
{
    sft_error *mine = lend(sizeof *mine);
    sft_storage storage = sft_memory(file, file_len);
    uint8_t window[8];
    char text[SFT_CODE_LEN];
    sft_status status;
    switch (next() & 3) {
    case 0:
        status = sft_open(model, &storage, NULL, NULL, 0, window, sizeof window, mine);
        break;
    case 1:
        status = sft_find(model, NULL, NULL, 0, window, sizeof window, mine);
        break;
    case 2:
        status = sft_metadata(model, "format", text, sizeof text, NULL, window, sizeof window, mine);
        break;
    default:
        status = sft_verify_crc32(model, 0, window, sizeof window, mine);
        break;
    }
    EXPECT(status == SFT_USAGE);
    sft_error_code(mine, text, sizeof text);
    EXPECT(strcmp(text, "c.reentered") == 0);
    check_text(sft_error_sentence, mine);
}

/* Uses other objects than the call that is running. */
static void call_others(void)
{
    sft_model other;
    sft_storage storage = sft_memory(file, file_len);
    uint8_t window[16];
    if (depth > 1) {
        return;
    }
    memset(&other, next(), sizeof other);
    if (sft_open(&other, &storage, NULL, NULL, 0, window, sizeof window, NULL) == SFT_OK) {
        EXPECT(sft_find(&other, NULL, NULL, 0, window, sizeof window, NULL) == SFT_OK);
    }
}

/* What a device does in place of reading. */
enum { CALL_AGAIN = 0xE0, CALL_OTHERS, FLIP, LIE = 0xE8, FAIL, FAIL_MOST, ONE_MORE, MANY_MORE, NOTHING };

static int32_t read_file(void *context, uint64_t offset, void *buffer, size_t len)
{
    struct device *device = context;
    EXPECT(buffer != NULL && len >= 1 && len <= INT32_MAX);
    size_t left = offset < device->len ? (size_t)(device->len - offset) : 0;
    size_t count = left < len ? left : len;
    uint8_t behaviour = device->behaviours[device->calls++ % BEHAVIOURS];
    device->lies += behaviour >= FLIP;
    depth++;
    if (behaviour == CALL_AGAIN) {
        call_again(device->model);
    } else if (behaviour == CALL_OTHERS) {
        call_others();
    }
    depth--;
    if (behaviour >= LIE) {
        memset(buffer, behaviour, len);
        switch (behaviour) {
        case FAIL:
            return -1;
        case FAIL_MOST:
            return INT32_MIN;
        case ONE_MORE:
            return len < INT32_MAX ? (int32_t)len + 1 : INT32_MAX;
        case MANY_MORE:
            return INT32_MAX;
        case NOTHING:
            return 0;
        default:
            return (int32_t)(behaviour & 1 ? len : count);
        }
    }
    if (behaviour >= 0xC0 && count > 1) {
        count = 1 + behaviour % (count - 1);
    }
    if (count > 0) {
        memcpy(buffer, device->file + offset, count);
        ((uint8_t *)buffer)[behaviour % count] ^= behaviour >= FLIP ? 1u << behaviour % 7 : 0;
    }
    return (int32_t)count;
}

/* Chooses a storage for the file. */
static sft_storage *choose_storage(struct device *device)
{
    sft_storage *storage = lend(sizeof *storage);
    uint32_t kind = (uint32_t)next() % 4;
    uint64_t len = seldom() ? file_len + number() - 4 : file_len;
    memset(device, 0, sizeof *device);
    device->file = file;
    device->len = file_len;
    bool misbehaves = next() >= 0xC0;
    for (size_t index = 0; index < BEHAVIOURS; index++) {
        device->behaviours[index] = misbehaves ? next() : index % 3 == 2 ? next() % FLIP : 0;
    }
    if (kind == SFT_LEN_MEMORY) {
        device->len = len < file_len ? len : file_len;
        *storage = sft_memory(device->len > 0 ? file : NULL, (size_t)device->len);
    } else {
        if (kind == SFT_LEN_AT_MOST && len == file_len) {
            len += next();
        }
        *storage = sft_callbacks(read_file, device, len, kind);
    }
    if (kind == SFT_LEN_EXACT && len < device->len) {
        device->len = len;
    }
    device->is_exact = kind == SFT_LEN_EXACT || kind == SFT_LEN_MEMORY;
    device->has_len = kind == SFT_LEN_UNKNOWN || storage->len == device->len
                      || (kind == SFT_LEN_AT_MOST && storage->len > device->len);
    device->exact_len = storage->len;
    return storage;
}

/* Makes a storage that cannot be opened. Returns whether it has. */
static bool spoil(sft_storage *storage)
{
    if (!seldom()) {
        return false;
    }
    switch (next() & 3) {
    case 0:
        storage->len_is = 4 + (uint32_t)number() % 1000;
        return true;
    case 1:
        storage->context = NULL;
        storage->len = UINT64_MAX - next();
        storage->len_is = SFT_LEN_MEMORY;
        return true;
    default:
        storage->read = NULL;
        return storage->len_is != SFT_LEN_MEMORY;
    }
}

/* ---- What the file contains --------------------------------------------------------------------------- */

#define MOST_KNOWN 8

/* The tensors of the file, found once without any trouble. */
static struct known {
    char name[48];
    size_t name_len;
    sft_tensor tensor;
} known[MOST_KNOWN];
static size_t known_count, tensor_count;
/* Whether sft_open accepts the file. */
static bool is_valid, has_all_names;

static void check_tensor(const sft_tensor *tensor)
{
    uint64_t elements = 1;
    EXPECT(tensor->rank <= SFT_MAX_RANK);
    for (size_t dim = 0; dim < SFT_MAX_RANK; dim++) {
        elements *= dim < tensor->rank ? tensor->shape[dim] : 1;
        EXPECT(dim < tensor->rank || tensor->shape[dim] == 0);
    }
    EXPECT(tensor->elements == elements);
    EXPECT(tensor->bytes
           == elements / 8 * BITS[dtype_index(tensor->dtype)]
                  + elements % 8 * BITS[dtype_index(tensor->dtype)] / 8);
}

static void remember(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    EXPECT(context == &known_count);
    check_tensor(tensor);
    tensor_count++;
    has_all_names = has_all_names && known_count < MOST_KNOWN && name_len < sizeof known->name;
    if (known_count == MOST_KNOWN || name_len >= sizeof known->name) {
        return;
    }
    struct known *one = &known[known_count++];
    memcpy(one->name, name, name_len);
    one->name[name_len] = 0;
    one->name_len = name_len;
    one->tensor = *tensor;
}

/* The file in memory, as the library reads it without any trouble. */
static sft_model *plain;
static uint8_t plain_window[512];

static void survey(void)
{
    uint8_t name[512];
    sft_storage storage = sft_memory(file, file_len);
    known_count = tensor_count = 0;
    has_all_names = true;
    sft_status status = sft_open(plain, &storage, NULL, NULL, 0, plain_window, sizeof plain_window, report());
    is_valid = succeeded(status, 0);
    if (!is_valid) {
        return;
    }
    status = sft_for_each(plain, remember, &known_count, name, sizeof name, plain_window, sizeof plain_window,
                          report());
    has_all_names = succeeded(status, 0) && has_all_names;
}

static bool has_duplicates(void)
{
    for (size_t one = 0; one < known_count; one++) {
        for (size_t other = 0; other < one; other++) {
            if (known[one].name_len == known[other].name_len
                && memcmp(known[one].name, known[other].name, known[one].name_len) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Requests ---------------------------------------------------------------------------------------- */

static const char *choose_text(void)
{
    static const char *const TEXTS[] = {
        "", "a", "format", "safetensors.sha256", "__metadata__", "\xFF\xFE", "\xC3\xA9", "a\"\\b\n\t\x01\x7F",
    };
    const char *text = TEXTS[below(sizeof TEXTS / sizeof *TEXTS)];
    if (seldom()) {
        return NULL;
    }
    return copy(text, strlen(text) + 1);
}

/* Fills in a request for a tensor of the file, precise or not. */
static void ask_for(sft_request *request, const struct known *one)
{
    uint8_t how = next();
    request->name = copy(one->name, one->name_len + 1);
    request->dtypes = how & 1 ? one->tensor.dtype : how & 2 ? SFT_ANY_DTYPE : one->tensor.dtype | 0x3;
    request->rank = (uint8_t)(how & 4 ? one->tensor.rank : SFT_ANY_RANK);
    for (size_t dim = 0; dim < SFT_MAX_RANK; dim++) {
        request->shape[dim] = how & 8 << dim % 3 ? one->tensor.shape[dim] : SFT_ANY_SIZE;
    }
    request->optional = how >> 7;
}

static void ask_for_anything(sft_request *request)
{
    request->name = choose_text();
    request->dtypes = next() & 1 ? SFT_ANY_DTYPE : (uint32_t)number();
    request->rank = next() & 1 ? SFT_ANY_RANK : next() % 12;
    request->optional = next() % 3;
    for (size_t dim = 0; dim < SFT_MAX_RANK; dim++) {
        request->shape[dim] = number();
    }
}

static sft_request *choose_requests(size_t count)
{
    sft_request *requests = lend(count * sizeof *requests);
    bool are_known = known_count > 0 && !seldom();
    for (size_t index = 0; index < count; index++) {
        if (are_known) {
            ask_for(&requests[index], &known[(next() + index) % known_count]);
        } else {
            ask_for_anything(&requests[index]);
        }
    }
    return requests;
}

static bool is_missing(const sft_tensor *tensor)
{
    return tensor->dtype == 0 && tensor->rank == 0 && tensor->bytes == 0 && tensor->offset == 0;
}

static void check_answer(const sft_request *request, const sft_tensor *tensor)
{
    if (tensor->dtype == 0) {
        EXPECT(request->optional && is_missing(tensor));
        return;
    }
    check_tensor(tensor);
    EXPECT(request->dtypes == SFT_ANY_DTYPE || (request->dtypes & tensor->dtype) != 0);
    EXPECT(request->rank == SFT_ANY_RANK || request->rank == tensor->rank);
    for (size_t dim = 0; dim < tensor->rank && request->rank != SFT_ANY_RANK; dim++) {
        EXPECT(request->shape[dim] == SFT_ANY_SIZE || request->shape[dim] == tensor->shape[dim]);
    }
}

/* Checks what was found. After an error, nothing was, but for memory that was not used. */
static void check_answers(bool is_ok, const sft_request *requests, const sft_tensor *tensors, size_t count,
                          const struct device *device)
{
    for (size_t index = 0; index < count; index++) {
        const sft_tensor *tensor = &tensors[index];
        if (is_ok) {
            check_answer(&requests[index], tensor);
        } else {
            EXPECT(is_missing(tensor) || is_filled(tensor, sizeof *tensor, FILL));
        }
        if (is_ok && device->is_exact) {
            EXPECT(tensor->offset + tensor->bytes <= device->exact_len);
        }
    }
}

/* ---- Models ------------------------------------------------------------------------------------------- */

static size_t choose_window(void)
{
    return next() & 3 ? 16 + next() : below(12);
}

static struct opened *choose_model(void)
{
    return &models[below(MODELS)];
}

static void open_model(struct opened *one)
{
    struct device *device = lend(sizeof *device);
    sft_storage *storage = choose_storage(device);
    bool is_spoiled = spoil(storage);
    size_t count = next() % 4, window_len = choose_window();
    sft_request *requests = choose_requests(count);
    sft_tensor *tensors = lend(count * sizeof *tensors);
    device->model = one->model;
    one->device = device;
    choose_wrong_pointer();
    sft_status status =
        sft_open(object(one->model), object(storage), values(requests, count), values(tensors, count), count,
                 bytes(lend_bytes(window_len), window_len), window_len, report());
    bool was_null_or_misaligned = was_wrong;
    bool is_open = succeeded(status, count);
    EXPECT(!is_open || !is_spoiled);
    check_answers(is_open, requests, tensors, count, device);
    EXPECT(!is_open || device->lies > 0 || !device->has_len || is_valid || !device->is_exact
           || device->len != file_len);
    one->is_open = is_open;
    /* With a null pointer the object may not have been touched. */
    if (was_null_or_misaligned) {
        memset(one->model, FILL, sizeof *one->model);
    }
}

static void open_unordered(struct opened *one)
{
    struct device *device = lend(sizeof *device);
    sft_storage *storage = choose_storage(device);
    bool is_spoiled = spoil(storage);
    size_t count = next() % 6, window_len = choose_window();
    device->model = one->model;
    one->device = device;
    choose_wrong_pointer();
    sft_status status =
        sft_open_unordered(object(one->model), object(storage), values(lend(count * sizeof(sft_slot)), count),
                           count, bytes(lend_bytes(window_len), window_len), window_len, report());
    bool was_null_or_misaligned = was_wrong;
    one->is_open = succeeded(status, 0);
    EXPECT(!one->is_open || !is_spoiled);
    if (was_null_or_misaligned) {
        memset(one->model, FILL, sizeof *one->model);
    }
}

/* Returns a model, opened if it can be and has not been. */
static struct opened *ready_model(void)
{
    struct opened *one = choose_model();
    if (!one->is_open && is_valid) {
        one->device = lend(sizeof *one->device);
        sft_storage *storage = choose_storage(one->device);
        one->device->model = one->model;
        uint8_t window[64];
        one->is_open =
            succeeded(sft_open(one->model, storage, NULL, NULL, 0, window, sizeof window, report()), 0);
    }
    return one;
}

/* Whether a call that began with `lies` was told the truth. */
static bool was_honest(const struct opened *one, size_t lies)
{
    return one->device->lies == lies && one->device->has_len;
}

static size_t lies_of(const struct opened *one)
{
    return one->device != NULL ? one->device->lies : 0;
}

static void find(void)
{
    struct opened *one = ready_model();
    size_t count = next() % 5, window_len = choose_window();
    sft_request *requests = choose_requests(count);
    sft_tensor *tensors = lend(count * sizeof *tensors);
    sft_request *same = lend(count * sizeof *same);
    memcpy(same, requests, count * sizeof *same);
    choose_wrong_pointer();
    sft_status status = sft_find(object(one->model), values(requests, count), values(tensors, count), count,
                                 bytes(lend_bytes(window_len), window_len), window_len, report());
    bool is_ok = succeeded(status, count);
    EXPECT(!is_ok || one->is_open);
    EXPECT(memcmp(same, requests, count * sizeof *same) == 0);
    if (one->device != NULL) {
        check_answers(is_ok, requests, tensors, count, one->device);
    }
}

struct visit {
    struct opened *one;
    size_t name_len;
    size_t count;
    uint8_t behaviour;
};

static void visit_tensor(void *context, const char *name, size_t name_len, const sft_tensor *tensor)
{
    struct visit *visit = context;
    EXPECT(name_len <= visit->name_len && (name_len == 0 || name != NULL));
    check_tensor(tensor);
    visit->count++;
    depth++;
    if (visit->behaviour == 0xFF) {
        call_again(visit->one->model);
    } else if (visit->behaviour == 0xFE) {
        call_others();
    }
    depth--;
}

static void list(void)
{
    struct opened *one = ready_model();
    struct visit *visit = lend(sizeof *visit);
    size_t name_len = below(64), window_len = choose_window(), lies = lies_of(one);
    *visit = (struct visit){ one, name_len, 0, next() };
    choose_wrong_pointer();
    bool is_ok = succeeded(sft_for_each(object(one->model), seldom() ? NULL : visit_tensor, visit,
                                        bytes(lend_bytes(name_len), name_len), name_len,
                                        bytes(lend_bytes(window_len), window_len), window_len, report()),
                           0);
    EXPECT(!is_ok || one->is_open);
    if (is_ok && was_honest(one, lies) && is_valid && has_all_names) {
        EXPECT(visit->count == tensor_count);
    }
}

static void validate_names(void)
{
    struct opened *one = ready_model();
    size_t count = next() % 6, text_len = below(80), window_len = choose_window(), lies = lies_of(one);
    uint64_t *key = next() & 1 ? lend(2 * sizeof *key) : NULL;
    choose_wrong_pointer();
    sft_status status =
        sft_validate_names(object(one->model), key, values(lend(count * sizeof(sft_slot)), count), count,
                           bytes(lend_bytes(text_len), text_len), text_len,
                           bytes(lend_bytes(window_len), window_len), window_len, report());
    bool is_ok = succeeded(status, 0);
    EXPECT(!is_ok || one->is_open);
    if (one->is_open && was_honest(one, lies) && is_valid && has_all_names) {
        EXPECT(!is_ok || !has_duplicates());
        EXPECT(status != SFT_FILE || has_duplicates() || passed != error || has_code("metadata.duplicate"));
    }
}

static void find_metadata(void)
{
    struct opened *one = ready_model();
    size_t len = below(80), window_len = choose_window();
    char *value = lend_bytes(len);
    int *found = next() & 3 ? lend(sizeof *found) : NULL;
    choose_wrong_pointer();
    sft_status status = sft_metadata(object(one->model), choose_text(), bytes(value, len), len, found,
                                     bytes(lend_bytes(window_len), window_len), window_len, report());
    if (succeeded(status, 0)) {
        EXPECT(one->is_open && len > 0 && memchr(value, 0, len) != NULL);
        EXPECT(found == NULL || *found == 1 || (*found == 0 && *value == 0));
    } else {
        EXPECT(found == NULL || is_filled(found, sizeof *found, FILL));
    }
}

/* ---- Reading ----------------------------------------------------------------------------------------- */

#define NUMBERS(X) \
    X(f32, float) \
    X(f64, double) \
    X(i8, int8_t) \
    X(u8, uint8_t) X(i16, int16_t) X(u16, uint16_t) X(i32, int32_t) X(u32, uint32_t) X(i64, int64_t) \
        X(u64, uint64_t)

typedef sft_status read_function(sft_model *, const sft_tensor *, uint64_t, void *, size_t, sft_error *);
typedef sft_status add_function(sft_receiver *, const sft_request *, void *, size_t, sft_error *);
typedef sft_status write_function(sft_recorder *, const void *, size_t, sft_error *);

#define FUNCTIONS(name, type) \
    static sft_status read_##name(sft_model *model, const sft_tensor *tensor, uint64_t first, void *out, \
                                  size_t count, sft_error *report) \
    { \
        return sft_read_##name(model, tensor, first, out, count, report); \
    } \
    static sft_status add_##name(sft_receiver *receiver, const sft_request *request, void *out, \
                                 size_t count, sft_error *report) \
    { \
        return sft_receiver_add_##name(receiver, request, out, count, report); \
    } \
    static sft_status write_##name(sft_recorder *recorder, const void *in, size_t count, sft_error *report) \
    { \
        return sft_recorder_write_##name(recorder, in, count, report); \
    }

NUMBERS(FUNCTIONS)

static sft_status read_rounded_f32(sft_model *model, const sft_tensor *tensor, uint64_t first, void *out,
                                   size_t count, sft_error *report)
{
    return sft_read_rounded_f32(model, tensor, first, out, count, report);
}

/* The functions for one type of numbers; the first are those for bytes. */
static const struct type {
    size_t size;
    uint32_t dtype;
    read_function *read;
    add_function *add;
    write_function *write;
} TYPES[] = {
    { 1, 0, sft_read_bytes, sft_receiver_add_bytes, sft_recorder_write_bytes },
    { 4, SFT_F32, read_f32, add_f32, write_f32 },
    { 8, SFT_F64, read_f64, add_f64, write_f64 },
    { 1, SFT_I8, read_i8, add_i8, write_i8 },
    { 1, SFT_U8, read_u8, add_u8, write_u8 },
    { 2, SFT_I16, read_i16, add_i16, write_i16 },
    { 2, SFT_U16, read_u16, add_u16, write_u16 },
    { 4, SFT_I32, read_i32, add_i32, write_i32 },
    { 4, SFT_U32, read_u32, add_u32, write_u32 },
    { 8, SFT_I64, read_i64, add_i64, write_i64 },
    { 8, SFT_U64, read_u64, add_u64, write_u64 },
    { 4, SFT_F32, read_rounded_f32, add_f32, write_f32 },
};
#define TYPE_COUNT (sizeof TYPES / sizeof *TYPES)

static void *lend_values(const struct type *type, size_t count)
{
    return type->size == 1 ? lend_bytes(count) : lend(count * type->size);
}

/* Returns how many values of this type a tensor has. */
static uint64_t value_count(const sft_tensor *tensor, const struct type *type)
{
    if (type == TYPES) {
        return tensor->bytes;
    }
    return tensor->dtype == SFT_C64 ? 2 * tensor->elements : tensor->elements;
}

/* Returns a tensor of the file, changed by its caller in any way. */
static sft_tensor *choose_tensor(bool *is_changed)
{
    sft_tensor *tensor = lend(sizeof *tensor);
    if (known_count > 0) {
        *tensor = known[below(known_count)].tensor;
    }
    *is_changed = seldom() || known_count == 0;
    for (size_t changes = *is_changed ? 1 + below(3) : 0; changes > 0; changes--) {
        uint64_t value = number();
        size_t field = below(13);
        if (field < SFT_MAX_RANK) {
            tensor->shape[field] = value;
        } else if (field == 8) {
            tensor->offset = next() & 1 ? value : tensor->offset + value;
        } else if (field == 9) {
            tensor->bytes = value;
        } else if (field == 10) {
            tensor->elements = value;
        } else if (field == 11) {
            tensor->dtype = next() & 1 ? UINT32_C(1) << below(32) : (uint32_t)value;
        } else {
            tensor->rank = (uint32_t)value;
        }
    }
    return tensor;
}

/* Reads the same values in two pieces. */
static void read_in_pieces(struct opened *one, const struct type *type, const sft_tensor *tensor,
                           uint64_t first, const void *all, size_t count)
{
    size_t cut = count > 0 ? below(count + 1) : 0;
    size_t lies = lies_of(one);
    uint8_t *head = lend_values(type, cut), *tail = lend_values(type, count - cut);
    bool are_read = succeeded(type->read(one->model, tensor, first, head, cut, report()), 0);
    are_read =
        succeeded(type->read(one->model, tensor, first + cut, tail, count - cut, report()), 0) && are_read;
    if (!was_honest(one, lies)) {
        return;
    }
    EXPECT(are_read);
    EXPECT(cut == 0 || memcmp(all, head, cut * type->size) == 0);
    EXPECT(cut == count
           || memcmp((const uint8_t *)all + cut * type->size, tail, (count - cut) * type->size) == 0);
}

static void read_values(void)
{
    struct opened *one = ready_model();
    bool is_changed;
    sft_tensor *tensor = choose_tensor(&is_changed);
    const struct type *type = &TYPES[below(TYPE_COUNT)];
    uint64_t has = value_count(tensor, type), first = seldom() ? number() : has > 0 ? next() % has : 0;
    uint64_t rest = has > first ? has - first : 0;
    size_t count = next() & 3 ? (size_t)(rest < 600 ? rest : 600) : (size_t)next();
    size_t lies = lies_of(one);
    void *out = lend_values(type, count);
    choose_wrong_pointer();
    sft_status status = type->read(object(one->model), object(tensor), first,
                                   type->size == 1 ? bytes(out, count) : values(out, count), count, report());
    if (!succeeded(status, 0)) {
        return;
    }
    EXPECT(one->is_open);
    EXPECT(is_changed || first + count <= has);
    if (!was_honest(one, lies)) {
        return;
    }
    if (type == TYPES && count > 0) {
        EXPECT(tensor->offset + first + count <= one->device->len);
        EXPECT(memcmp(out, file + tensor->offset + first, count) == 0);
    }
    read_in_pieces(one, type, tensor, first, out, count);
}

/* ---- Integrity ---------------------------------------------------------------------------------------- */

static uint32_t crc32_of(const uint8_t *memory, size_t len)
{
    uint32_t crc = UINT32_MAX;
    for (size_t index = 0; index < len; index++) {
        crc ^= memory[index];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0xEDB88320) : crc >> 1;
        }
    }
    return ~crc;
}

static void verify(void)
{
    struct opened *one = ready_model();
    size_t len = choose_window(), lies = lies_of(one);
    void *buffer = lend_bytes(len);
    bool is_right = next() & 1;
    uint32_t crc = crc32_of(file, file_len) ^ (is_right ? 0 : 1);
    sft_status status;
    choose_wrong_pointer();
    switch (next() % 3) {
    case 0:
        status = sft_verify_sha256(object(one->model), bytes(lend_bytes(32), 32), bytes(buffer, len), len,
                                   report());
        EXPECT(status != SFT_OK);
        break;
    case 1:
        status = sft_verify_crc32(object(one->model), crc, bytes(buffer, len), len, report());
        if (one->is_open && was_honest(one, lies) && one->device->is_exact && one->device->len == file_len) {
            EXPECT((status == SFT_OK) == is_right || was_wrong || len == 0);
        }
        break;
    default:
        status = sft_verify_embedded(object(one->model), bytes(buffer, len), len, report());
        break;
    }
    EXPECT(!succeeded(status, 0) || one->is_open);
}

/* ---- Receiving ---------------------------------------------------------------------------------------- */

#define MOST_TARGETS 4

/* What is received into. */
struct aim {
    const struct known *one;
    const struct type *type;
    void *memory;
    size_t count;
};

/* Adds a target. Returns whether it was. */
static bool add_target(sft_receiver *receiver, struct aim *aim)
{
    sft_request *request = choose_requests(1);
    aim->one = NULL;
    aim->type = &TYPES[below(TYPE_COUNT)];
    aim->count = next();
    if (known_count > 0 && !seldom()) {
        aim->one = &known[below(known_count)];
        ask_for(request, aim->one);
        uint64_t count = value_count(&aim->one->tensor, aim->type);
        if (count <= 8192 && !seldom()) {
            aim->count = (size_t)count;
        }
        if (next() & 1 && dtype_index(aim->one->tensor.dtype) < DTYPE_COUNT) {
            aim->type = TYPES, aim->count = (size_t)aim->one->tensor.bytes % 8192;
        }
    }
    aim->memory = lend_values(aim->type, aim->count);
    choose_wrong_pointer();
    void *memory = aim->type->size == 1 ? bytes(aim->memory, aim->count) : values(aim->memory, aim->count);
    return succeeded(aim->type->add(object(receiver), object(request), memory, aim->count, report()), 1);
}

/* Passes the file to a receiver. Returns whether all pieces were taken. */
static bool push_file(sft_receiver *receiver, size_t len)
{
    uint8_t rhythm = next();
    for (size_t at = 0; at < len;) {
        uint64_t missing = sft_receiver_remaining(receiver);
        size_t size = rhythm < 0x40   ? len
                      : rhythm < 0x80 ? 1 + rhythm % 4
                      : rhythm < 0xC0 ? below(64) + 1
                                      : missing + 1;
        size = size > len - at ? len - at : size;
        sft_status status = sft_receiver_push(receiver, copy(file + at, size), size, report());
        if (!succeeded(status, MOST_TARGETS)) {
            EXPECT(sft_receiver_remaining(receiver) == 0);
            EXPECT(sft_receiver_push(receiver, NULL, 0, report()) == status);
            return false;
        }
        at += size;
        if (block_count > MOST_BLOCKS * 3 / 4) {
            rhythm = 0;
        }
    }
    return true;
}

/* Compares what was received with what is read. */
static void check_received(const struct aim *aim)
{
    if (aim->one == NULL || !is_valid) {
        return;
    }
    uint64_t count = value_count(&aim->one->tensor, aim->type);
    if (count > aim->count) {
        return;
    }
    void *same = lend_values(aim->type, (size_t)count);
    read_function *read = aim->type->read == read_rounded_f32 ? read_f32 : aim->type->read;
    EXPECT(succeeded(read(plain, &aim->one->tensor, 0, same, (size_t)count, report()), 0));
    EXPECT(count == 0 || memcmp(same, aim->memory, (size_t)count * aim->type->size) == 0);
}

static void check_targets(sft_receiver *receiver, const struct aim *aims, size_t count, bool is_complete)
{
    sft_tensor *tensor = lend(sizeof *tensor);
    for (size_t index = 0; index < count; index++) {
        EXPECT(succeeded(sft_receiver_tensor(receiver, index, tensor, report()), 0));
        if (tensor->dtype != 0) {
            check_tensor(tensor);
        }
        if (tensor->dtype != 0 && is_complete) {
            check_received(&aims[index]);
        }
    }
    choose_wrong_pointer();
    size_t none = count + (size_t)number();
    EXPECT(none < count || !succeeded(sft_receiver_tensor(receiver, none, object(tensor), report()), 0));
}

static void receive(void)
{
    sft_receiver *receiver = lend(sizeof *receiver);
    size_t capacity = next() % (MOST_TARGETS + 1), added = 0, tries = next() % (MOST_TARGETS + 2);
    struct aim aims[MOST_TARGETS + 2];
    memset(receiver, next(), sizeof *receiver);
    choose_wrong_pointer();
    sft_target *targets = lend(capacity * sizeof *targets);
    EXPECT(sft_receiver_remaining(receiver) == 0);
    if (!succeeded(sft_receiver_begin(object(receiver), values(targets, capacity), capacity, report()), 0)) {
        EXPECT(!succeeded(sft_receiver_push(receiver, "", 1, report()), 0));
        return;
    }
    while (tries-- > 0) {
        added += add_target(receiver, &aims[added]);
    }
    EXPECT(added <= capacity);
    size_t len = seldom() ? below(file_len + 1) : file_len;
    bool is_taken = push_file(receiver, len);
    check_targets(receiver, aims, added, false);
    if (next() & 1 && len > 0) {
        EXPECT(!add_target(receiver, &aims[added]));
    }
    bool is_complete = succeeded(sft_receiver_end(receiver, report()), MOST_TARGETS);
    EXPECT(!is_complete || (is_taken && sft_receiver_remaining(receiver) == 0));
    EXPECT(len < file_len || !is_complete || is_valid);
    EXPECT(len < file_len || added > 0 || is_complete == is_valid);
    check_targets(receiver, aims, added, is_complete);
    if (seldom()) {
        EXPECT(!succeeded(sft_receiver_push(receiver, "x", 1, report()), MOST_TARGETS));
    }
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

#define MOST_MEDIUM 8192

/* Where a file is recorded. */
struct medium {
    uint8_t *memory;
    bool *is_written;
    uint64_t capacity;
    uint64_t end;
    uint64_t file_len;
    size_t unit;
    uint8_t behaviours[BEHAVIOURS];
    size_t calls;
    size_t lies;
    bool is_prepared;
    /* The object that writes: one of these. */
    sft_recorder *recorder;
    sft_file_receiver *receiver;
};

/* Uses the object whose callback is running. */
static void call_writer_again(const struct medium *medium)
{
    sft_error *mine = lend(sizeof *mine);
    sft_sink sink = { NULL, NULL, NULL, NULL, MOST_MEDIUM, 1 };
    char text[SFT_CODE_LEN];
    sft_recorder *recorder = medium->recorder;
    sft_file_receiver *receiver = medium->receiver;
    sft_status status;
    switch (next() % 3) {
    case 0:
        status = recorder ? sft_recorder_write_bytes(recorder, "", 1, mine)
                          : sft_file_receiver_push(receiver, "", 1, mine);
        break;
    case 1:
        status = recorder ? sft_recorder_finish(recorder, mine) : sft_file_receiver_finish(receiver, mine);
        break;
    default:
        status = recorder
                     ? sft_recorder_begin(recorder, &sink, NULL, 0, NULL, 0, NULL, 0, lend(8), 8, mine)
                     : sft_file_receiver_begin(receiver, &sink, 8, NULL, NULL, 0, lend(16), 16, mine);
        break;
    }
    sft_error_code(mine, text, sizeof text);
    EXPECT(status == SFT_USAGE && strcmp(text, "c.reentered") == 0);
}

/* What a medium does in place of writing. */
enum { USE_RECORDER = 0xF0, SINK_FAILS = 0xF9, SINK_IS_FULL, TOO_MUCH, TOO_LITTLE };

static int32_t not_written(uint8_t behaviour, size_t len)
{
    switch (behaviour) {
    case SINK_FAILS:
        return -7;
    case SINK_IS_FULL:
        return 0;
    case TOO_MUCH:
        return (int32_t)len + 1;
    case TOO_LITTLE:
        return (int32_t)len - 1;
    default:
        return INT32_MAX;
    }
}

static int32_t write_medium(void *context, uint64_t offset, const void *from, size_t len)
{
    struct medium *medium = context;
    uint8_t behaviour = medium->behaviours[medium->calls++ % BEHAVIOURS];
    EXPECT(len >= 1 && len <= INT32_MAX && offset % medium->unit == 0 && len % medium->unit == 0);
    EXPECT(offset <= medium->capacity && len <= medium->capacity - offset);
    if (behaviour == USE_RECORDER) {
        call_writer_again(medium);
    }
    if (behaviour >= SINK_FAILS) {
        medium->lies++;
        return not_written(behaviour, len);
    }
    if (behaviour >= 0xC0 && len > medium->unit) {
        len = medium->unit * (1 + behaviour % (len / medium->unit));
    }
    for (size_t index = 0; index < len; index++) {
        EXPECT(!medium->is_prepared || !medium->is_written[offset + index]);
        medium->is_written[offset + index] = true;
    }
    memcpy(medium->memory + offset, from, len);
    medium->end = offset + len > medium->end ? offset + len : medium->end;
    return (int32_t)len;
}

static int32_t prepare_medium(void *context, uint64_t data_start, uint64_t len)
{
    struct medium *medium = context;
    uint8_t behaviour = medium->behaviours[medium->calls++ % BEHAVIOURS];
    EXPECT(data_start >= 8 && data_start <= len && len <= medium->capacity);
    if (behaviour == USE_RECORDER) {
        call_writer_again(medium);
    }
    medium->is_prepared = true;
    medium->file_len = len;
    memset(medium->memory, 0xFF, 8 < medium->capacity ? 8 : (size_t)medium->capacity);
    return behaviour < SINK_FAILS ? 0 : behaviour & 1 ? behaviour : -(int32_t)behaviour;
}

static int32_t flush_medium(void *context)
{
    struct medium *medium = context;
    uint8_t behaviour = medium->behaviours[medium->calls++ % BEHAVIOURS];
    if (behaviour == USE_RECORDER) {
        call_writer_again(medium);
    }
    return behaviour < SINK_FAILS ? 0 : behaviour & 1 ? 1 : INT32_MIN;
}

static sft_sink *choose_sink(struct medium *medium)
{
    sft_sink *sink = lend(sizeof *sink);
    size_t capacity = seldom() ? below(200) : MOST_MEDIUM;
    bool misbehaves = next() >= 0xC0;
    memset(medium, 0, sizeof *medium);
    medium->memory = lend(capacity);
    medium->is_written = lend(capacity * sizeof *medium->is_written);
    memset(medium->is_written, 0, capacity * sizeof *medium->is_written);
    medium->capacity = capacity;
    for (size_t index = 0; index < BEHAVIOURS; index++) {
        medium->behaviours[index] = misbehaves ? next() : index % 3 == 2 ? next() % (USE_RECORDER + 1) : 0;
    }
    sink->write = seldom() ? NULL : write_medium;
    sink->prepare = next() & 1 ? prepare_medium : NULL;
    sink->flush = next() & 1 ? flush_medium : NULL;
    sink->context = medium;
    sink->capacity = capacity;
    sink->unit = (size_t)1 << next() % 7;
    if (seldom()) {
        sink->unit = (size_t)number();
    }
    medium->unit = sink->unit > 0 ? sink->unit : 1;
    return sink;
}

#define MOST_SPECS 4

/* Chooses tensors, in the order in which they are written if `is_tidy`. */
static sft_spec *choose_specs(size_t count, bool is_tidy)
{
    sft_spec *specs = lend(count * sizeof *specs);
    size_t dtype = DTYPE_COUNT - 1;
    for (size_t index = 0; index < count; index++) {
        sft_spec *spec = &specs[index];
        char name[2] = { (char)('a' + index), 0 };
        dtype = is_tidy ? dtype - next() % (dtype / 4 + 1) : below(DTYPE_COUNT + 1);
        spec->name = is_tidy ? copy(name, 2) : choose_text();
        spec->dtype = seldom() ? (uint32_t)number() : UINT32_C(1) << dtype;
        spec->rank = seldom() ? (uint32_t)number() : next() % 4;
        for (size_t dim = 0; dim < SFT_MAX_RANK; dim++) {
            spec->shape[dim] = seldom() ? number() : dim == 0 ? 4 * (next() % 4) : 1 + next() % 3;
        }
    }
    return specs;
}

static sft_pair *choose_pairs(size_t count)
{
    sft_pair *pairs = lend(count * sizeof *pairs);
    for (size_t index = 0; index < count; index++) {
        pairs[index].key = choose_text();
        pairs[index].value = choose_text();
    }
    return pairs;
}

static uint8_t datum(uint64_t at)
{
    return (uint8_t)(151 * at + 7);
}

/* Returns how many bytes a spec has, as far as it can be written. */
static uint64_t spec_bytes(const sft_spec *spec)
{
    uint64_t elements = 1;
    for (size_t dim = 0; dim < spec->rank && dim < SFT_MAX_RANK; dim++) {
        elements *= spec->shape[dim];
    }
    return elements * BITS[dtype_index(spec->dtype)] / 8;
}

/* Writes `count` values, which continue what was written. */
static sft_status write_values(sft_recorder *recorder, const struct type *type, size_t count,
                               uint64_t written)
{
    uint8_t *in = lend_values(type, count);
    for (size_t index = 0; index < count * type->size; index++) {
        in[index] = datum(written + index);
    }
    choose_wrong_pointer();
    void *pointer = type->size == 1 ? bytes(in, count) : values(in, count);
    sft_status status = type->write(object(recorder), pointer, count, report());
    succeeded(status, MOST_SPECS);
    return status;
}

/* Returns the type of a tensor's values, or that of bytes, or seldom any. */
static const struct type *choose_type(uint32_t dtype)
{
    const struct type *type = TYPES;
    for (size_t index = 1; next() & 1 && index < TYPE_COUNT; index++) {
        type = TYPES[index].dtype == dtype ? &TYPES[index] : type;
    }
    return seldom() ? &TYPES[below(TYPE_COUNT)] : type;
}

/* Writes the data of a tensor. After a mistake, it writes the right values. Returns whether all was taken. */
static bool write_tensor(sft_recorder *recorder, const sft_spec *spec, uint64_t *written)
{
    uint64_t left = spec_bytes(spec);
    while (left > 0 && block_count < MOST_BLOCKS * 3 / 4) {
        const struct type *type = choose_type(spec->dtype);
        uint64_t most = left / type->size;
        size_t count = (size_t)(most > 0 ? (next() & 1 ? 1 + next() % most : most) : 1);
        count = count > 512 ? 512 : count;
        sft_status status = write_values(recorder, type, count, *written);
        if (status == SFT_STORAGE) {
            EXPECT(sft_recorder_write_bytes(recorder, NULL, 0, NULL) == SFT_USAGE);
            return false;
        }
        size_t len = status == SFT_OK ? count * type->size : 0;
        *written += len;
        left -= len < left ? len : left;
    }
    return left == 0;
}

/* Reads back what was recorded. */
static void check_recorded(const struct medium *medium, const sft_spec *specs, size_t count)
{
    struct device *device = lend(sizeof *device);
    bool is_exact = medium->unit == 1 || medium->is_prepared;
    sft_storage storage =
        sft_callbacks(read_file, device, medium->is_prepared ? medium->file_len : medium->end,
                      is_exact ? SFT_LEN_EXACT : SFT_LEN_AT_MOST);
    memset(device, 0, sizeof *device);
    device->file = medium->memory;
    device->len = medium->end;
    sft_model *model = lend(sizeof *model);
    sft_tensor *tensors = lend(count * sizeof *tensors);
    sft_request *requests = lend(count * sizeof *requests);
    uint64_t written = 0;
    for (size_t index = 0; index < count; index++) {
        requests[index].name = specs[index].name;
        requests[index].dtypes = specs[index].dtype;
        requests[index].rank = (uint8_t)specs[index].rank;
        requests[index].optional = 0;
        memcpy(requests[index].shape, specs[index].shape, sizeof requests->shape);
    }
    EXPECT(succeeded(
        sft_open(model, &storage, requests, tensors, count, plain_window, sizeof plain_window, report()),
        count));
    for (size_t index = 0; index < count; index++) {
        uint64_t len = tensors[index].bytes;
        uint8_t *data = lend_bytes((size_t)len);
        EXPECT(len == spec_bytes(&specs[index]));
        EXPECT(succeeded(sft_read_bytes(model, &tensors[index], 0, data, (size_t)len, report()), 0));
        for (size_t at = 0; at < len; at++) {
            EXPECT(data[at] == datum(written + at));
        }
        written += len;
    }
}

/* Checks that nobody takes for a file what is not complete. */
static void check_incomplete(const struct medium *medium)
{
    uint64_t len = medium->end > 8 ? medium->end : medium->capacity;
    sft_storage storage = sft_memory(medium->memory, (size_t)len);
    sft_model *model = lend(sizeof *model);
    EXPECT(sft_open(model, &storage, NULL, NULL, 0, plain_window, sizeof plain_window, NULL) != SFT_OK);
}

static bool begin_recorder(sft_recorder *recorder, const sft_sink *sink, const sft_spec *specs, size_t count)
{
    size_t pair_count = next() & 1 ? 0 : 1 + below(3);
    size_t words = SFT_RECORDER_MEMORY(count, pair_count);
    size_t buffer_len = seldom() ? below(80) : sink->unit <= 512 ? sink->unit * (1 + below(3)) : 512;
    if (seldom()) {
        words = words > 0 && next() & 1 ? words - 1 : words + 1;
    }
    sft_pair *pairs = choose_pairs(pair_count);
    uint64_t *memory = lend(words * sizeof *memory);
    void *buffer = lend_bytes(buffer_len);
    choose_wrong_pointer();
    sft_status status = sft_recorder_begin(object(recorder), object(sink), values(specs, count), count,
                                           values(pairs, pair_count), pair_count,
                                           values(memory, count + pair_count > 0 ? words : 0), words,
                                           bytes(buffer, buffer_len), buffer_len, report());
    return succeeded(status, count > pair_count ? count : pair_count);
}

static void record(void)
{
    struct medium *medium = lend(sizeof *medium);
    sft_sink *sink = choose_sink(medium);
    size_t count = next() % (MOST_SPECS + 1), done = 0;
    sft_spec *specs = choose_specs(count, !seldom());
    sft_recorder *recorder = lend(sizeof *recorder);
    uint64_t written = 0;
    medium->recorder = recorder;
    memset(recorder, next(), sizeof *recorder);
    if (!begin_recorder(recorder, sink, specs, count)) {
        EXPECT(!succeeded(sft_recorder_write_bytes(recorder, "", 1, report()), 0));
        return;
    }
    bool is_given_up = seldom();
    while (done < count && !is_given_up && write_tensor(recorder, &specs[done], &written)) {
        done++;
    }
    if (medium->lies == 0) {
        check_incomplete(medium);
    }
    bool is_finished = succeeded(sft_recorder_finish(recorder, report()), MOST_SPECS);
    EXPECT(sft_recorder_finish(recorder, NULL) == SFT_USAGE);
    if (medium->lies > 0) {
        return;
    }
    if (is_finished) {
        check_recorded(medium, specs, count);
    } else if (done < count) {
        check_incomplete(medium);
    }
}

/* Passes the beginning of the file to both objects. Returns whether the receiver took all pieces. */
static bool push_to_both(sft_file_receiver *receiver, sft_verifier *verifier, size_t len, size_t count)
{
    bool is_taken = true;
    for (size_t at = 0; at < len;) {
        size_t size = block_count > MOST_BLOCKS * 3 / 4 ? len : 1 + (size_t)number() % 4096;
        size = size > len - at ? len - at : size;
        const void *piece = copy(file + at, size);
        EXPECT(succeeded(sft_verifier_update(verifier, piece, size, report()), 0));
        bool is_pushed = succeeded(sft_file_receiver_push(receiver, piece, size, report()), count);
        EXPECT(is_taken || !is_pushed);
        is_taken = is_pushed;
        at += size;
    }
    return is_taken;
}

static bool begin_file(sft_file_receiver *receiver, const sft_sink *sink, uint64_t len, sft_tensor *tensors,
                       size_t count)
{
    size_t buffer_len = seldom() || sink->unit > 512 ? below(80) : 8 + 2 * sink->unit * (1 + below(3));
    void *buffer = lend_bytes(buffer_len);
    sft_request *requests = choose_requests(count);
    choose_wrong_pointer();
    sft_status status = sft_file_receiver_begin(object(receiver), object(sink), len, values(requests, count),
                                                values(tensors, count), count, bytes(buffer, buffer_len),
                                                buffer_len, report());
    return succeeded(status, count);
}

static void store(void)
{
    struct medium *medium = lend(sizeof *medium);
    sft_sink *sink = choose_sink(medium);
    sft_file_receiver *receiver = medium->receiver = lend(sizeof *receiver);
    sft_verifier *verifier = lend(sizeof *verifier);
    size_t count = below(3), len = seldom() ? below(file_len + 1) : file_len;
    uint64_t announced = seldom() ? number() : file_len;
    sft_tensor *tensors = lend(count * sizeof *tensors);
    memset(receiver, next(), sizeof *receiver);
    bool is_begun = begin_file(receiver, sink, announced, tensors, count);
    EXPECT(succeeded(sft_verifier_begin(verifier, report()), 0));
    bool is_taken = push_to_both(receiver, verifier, len, count) && is_begun;
    if (medium->lies == 0) {
        check_incomplete(medium);
    }
    bool is_finished = succeeded(sft_file_receiver_finish(receiver, report()), count);
    EXPECT(!is_finished || (is_taken && is_valid && len == file_len && announced == file_len));
    EXPECT(medium->lies > 0 || !is_finished || memcmp(medium->memory, file, file_len) == 0);
    for (size_t index = 0; is_begun && index < count; index++) {
        EXPECT(is_finished || is_missing(&tensors[index]));
    }
    sft_status status = sft_verifier_verify(verifier, report());
    EXPECT(succeeded(status, 0) || status != SFT_OK);
    if (is_valid && len == file_len) {
        EXPECT(status == sft_verify_embedded(plain, plain_window, sizeof plain_window, NULL));
    }
    EXPECT(sft_file_receiver_finish(receiver, NULL) == SFT_USAGE);
    EXPECT(sft_verifier_verify(verifier, NULL) == SFT_USAGE);
}

/* ---- Objects that are not open, and all functions with them -------------------------------------------- */

static void use_model(sft_model *model)
{
    uint8_t window[16];
    char value[16];
    sft_tensor tensor;
    memset(&tensor, 0, sizeof tensor);
    EXPECT(!succeeded(sft_find(model, NULL, NULL, 0, window, sizeof window, report()), 0));
    EXPECT(
        !succeeded(sft_metadata(model, "a", value, sizeof value, NULL, window, sizeof window, report()), 0));
    EXPECT(!succeeded(sft_validate_names(model, NULL, NULL, 0, NULL, 0, window, sizeof window, report()), 0));
    EXPECT(!succeeded(sft_for_each(model, remember, NULL, NULL, 0, window, sizeof window, report()), 0));
    EXPECT(!succeeded(sft_verify_embedded(model, window, sizeof window, report()), 0));
    for (size_t index = 0; index < TYPE_COUNT; index++) {
        EXPECT(!succeeded(TYPES[index].read(model, &tensor, 0, NULL, 0, report()), 0));
    }
    EXPECT(passed != error || has_code("c.state"));
}

static void misuse_objects(void)
{
    sft_model *moved = lend(sizeof *moved);
    sft_receiver *receiver = lend(sizeof *receiver);
    sft_recorder *recorder = lend(sizeof *recorder);
    const struct opened *one = choose_model();
    memset(receiver, next(), sizeof *receiver);
    memcpy(moved, one->model, sizeof *moved);
    use_model(moved);
    /* Another object in the same memory. */
    EXPECT(succeeded(sft_receiver_begin(receiver, NULL, 0, report()), 0));
    use_model((sft_model *)(void *)receiver);
    sft_receiver *other = lend(sizeof *other);
    memcpy(other, receiver, sizeof *other);
    EXPECT(!succeeded(sft_receiver_end(other, report()), 0));
    EXPECT(!succeeded(sft_recorder_finish(recorder, report()), 0));
    EXPECT(!succeeded(sft_recorder_write_f32(recorder, NULL, 0, report()), 0));
}

/* Checks what a function returned that was told of more memory than there can be. */
static void expect_too_long(sft_status status)
{
    EXPECT(status == SFT_USAGE && !succeeded(status, 0));
    EXPECT(passed != error || has_code("c.length") || has_code("c.state"));
}

static void misuse_lengths_of_model(size_t len)
{
    void *memory = lend(sizeof(sft_request));
    uint8_t window[8];
    sft_storage storage = sft_memory(file, file_len), endless = sft_memory(memory, len);
    sft_model *model = lend(sizeof *model);
    sft_tensor *tensor = lend(sizeof *tensor);
    *tensor = known[0].tensor;
    expect_too_long(sft_open(model, &endless, NULL, NULL, 0, window, sizeof window, report()));
    expect_too_long(sft_open(model, &storage, memory, tensor, len, window, sizeof window, report()));
    expect_too_long(sft_open(model, &storage, NULL, NULL, 0, memory, len, report()));
    expect_too_long(sft_open_unordered(model, &storage, memory, len, window, sizeof window, report()));
    expect_too_long(sft_find(plain, memory, tensor, len, window, sizeof window, report()));
    expect_too_long(sft_for_each(plain, remember, NULL, memory, len, window, sizeof window, report()));
    expect_too_long(sft_validate_names(plain, NULL, NULL, 0, memory, len, window, sizeof window, report()));
    expect_too_long(sft_metadata(plain, "a", memory, len, NULL, window, sizeof window, report()));
    expect_too_long(sft_verify_crc32(plain, 0, memory, len, report()));
    for (size_t index = 0; index < TYPE_COUNT; index++) {
        size_t count = len / TYPES[index].size;
        expect_too_long(TYPES[index].read(plain, tensor, 0, memory, count, report()));
    }
}

static void misuse_lengths(void)
{
    /* One more than the largest, and the largest number. */
    size_t len = next() & 1 ? SIZE_MAX : SIZE_MAX / 2 + 1 + next();
    void *memory = lend(sizeof(sft_target));
    sft_sink sink = { write_medium, NULL, NULL, NULL, 100, 1 };
    sft_receiver *receiver = lend(sizeof *receiver);
    sft_recorder *recorder = lend(sizeof *recorder);
    misuse_lengths_of_model(len);
    expect_too_long(sft_receiver_begin(receiver, memory, len, report()));
    EXPECT(succeeded(sft_receiver_begin(receiver, NULL, 0, report()), 0));
    expect_too_long(sft_receiver_push(receiver, memory, len, report()));
    expect_too_long(sft_recorder_begin(recorder, &sink, memory, len, NULL, 0, NULL, 0, NULL, 0, report()));
    expect_too_long(sft_recorder_begin(recorder, &sink, NULL, 0, memory, len, NULL, 0, NULL, 0, report()));
    expect_too_long(sft_recorder_begin(recorder, &sink, NULL, 0, NULL, 0, NULL, 0, memory, len, report()));
    EXPECT(sft_error_sentence(error, memory, len) == 0);
}

/* ---- Agreement ---------------------------------------------------------------------------------------- */

/* Compares the verdicts of sft_open_unordered and of other storage with those of sft_open in memory. */
static void agree(void)
{
    struct device *device = lend(sizeof *device);
    sft_model *model = lend(sizeof *model);
    size_t window_len = 1 + below(100), slots = next() % 10;
    memset(device, 0, sizeof *device);
    device->file = file;
    device->len = file_len;
    device->model = model;
    sft_storage memory = sft_memory(file, file_len);
    sft_storage calls =
        sft_callbacks(read_file, device, file_len, next() & 1 ? SFT_LEN_EXACT : SFT_LEN_UNKNOWN);
    sft_status status = sft_open(model, &memory, NULL, NULL, 0, lend_bytes(window_len), window_len, report());
    EXPECT(succeeded(status, 0) == is_valid || passed != error);
    sft_error first = *error;
    sft_status other = sft_open(model, &calls, NULL, NULL, 0, lend_bytes(window_len), window_len, report());
    EXPECT(other == status || (calls.len_is == SFT_LEN_UNKNOWN && !is_valid));
    if (passed == error && status != SFT_OK && calls.len_is == SFT_LEN_EXACT
        && !is_filled(&first, sizeof first, FILL)) {
        EXPECT(first.at == error->at);
    }
    status = sft_open_unordered(model, &calls, lend(slots * sizeof(sft_slot)), slots, lend_bytes(window_len),
                                window_len, report());
    EXPECT(!is_valid || succeeded(status, 0));
    EXPECT(other != SFT_FILE || status != SFT_OK);
}

static void act(void)
{
    switch (next() % 18) {
    case 0:
        open_model(choose_model());
        return;
    case 1:
        open_unordered(choose_model());
        return;
    case 2:
    case 3:
        find();
        return;
    case 4:
        list();
        return;
    case 5:
        validate_names();
        return;
    case 6:
        find_metadata();
        return;
    case 7:
    case 8:
        read_values();
        return;
    case 9:
        verify();
        return;
    case 10:
    case 11:
        receive();
        return;
    case 12:
    case 13:
        record();
        return;
    case 14:
    case 15:
        store();
        return;
    case 16:
        misuse_objects();
        misuse_lengths();
        misuse_errors();
        return;
    default:
        agree();
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t plan_len = 4u * data[0] < size - 1 ? 4u * data[0] : size - 1;
    plan = data + 1;
    plan_left = plan_len;
    parts = data + 1 + plan_len;
    parts_left = size - 1 - plan_len;
    wrong_pointer = SIZE_MAX;
    was_wrong = false;
    file_len = make_file();
    file = copy(original, file_len);
    error = lend(sizeof *error);
    plain = lend(sizeof *plain);
    for (size_t index = 0; index < MODELS; index++) {
        models[index] = (struct opened){ lend(sizeof(sft_model)), NULL, false };
    }
    survey();
    while (plan_left > 0 && block_count < MOST_BLOCKS / 2) {
        act();
    }
    EXPECT(file_len == 0 || memcmp(file, original, file_len) == 0);
    take_back_all();
    return 0;
}
