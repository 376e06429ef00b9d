/* Reads and writes safetensors files on devices: no heap, memory that the caller owns.
 *
 * A model is read in three steps: describe the storage, open the model with the tensors that the program
 * expects, read values into arrays.
 *
 *     static const sft_request NET[] = {
 *         SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8),
 *         SFT_REQUIRED("fc.bias", SFT_F32, 1, 3),
 *     };
 *     sft_storage flash = sft_callbacks(read_flash, NULL, 4096, SFT_LEN_AT_MOST);
 *     sft_model model;
 *     sft_tensor tensors[2];
 *     sft_error error;
 *     uint8_t window[256];
 *     float bias[3];
 *
 *     if (sft_open(&model, &flash, NET, tensors, 2, window, sizeof window, &error) != SFT_OK
 *         || sft_read_f32(&model, &tensors[1], 0, bias, 3, &error) != SFT_OK) {
 *         char sentence[200];
 *         sft_error_sentence(&error, sentence, sizeof sentence);
 *         puts(sentence);
 *     }
 *
 * Rules for all functions:
 *
 * - Those that return sft_status return SFT_OK or the class of the error, and fill in `error` if they fail and
 *   it is not NULL.
 * - These mistakes are errors (SFT_USAGE): a null or misaligned pointer; a name that is not UTF-8; objects and
 *   arrays of one call that overlap (not `error`); an object that is not open; and a call from within a callback
 *   with the object of the running call. A misaligned `error` is ignored.
 * - These mistakes cannot be noticed, and then the behaviour is undefined:
 *   - a pointer to memory that is too small or no longer exists, a string without its final 0;
 *   - a name or an sft_memory file that overlaps memory that the call writes, an `error` that overlaps anything;
 *   - borrowed memory that you change, or pass to a call;
 *   - use of an object that was never opened or begun, in the memory of an earlier one. Open and begin accept any
 *     memory; before others, write `sft_model model = { { 0 } };`.
 * - While a call runs, nothing else may use the memory that was passed to it: no callback (except for the buffer
 *   that it is given), no other thread, no interrupt handler. Only calls from callbacks are noticed (c.reentered).
 * - Callbacks must return: no longjmp, no exception. If a task is killed in a callback, zero the object before
 *   you open it again; until then it is in use (c.reentered).
 * - An array of length 0 may be NULL.
 * - Nothing is kept between calls but the objects that you pass, so functions may run in several threads with
 *   different objects. They call only your callbacks, and never block.
 * - "Borrows" means that an object keeps a pointer: the memory must stay valid and unchanged until the
 *   object is used for the last time. Other arguments need not outlive the call.
 * - Objects (sft_model, sft_receiver, sft_recorder, sft_file_receiver, sft_verifier, sft_slots) need no destructor and
 *   must not be copied or moved after they were opened. All other structures are plain data and can be copied.
 */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------------------ */

/* The class of an error. */
typedef int32_t sft_status;

#define SFT_OK 0
/* The file is not a valid safetensors file, or its sum is wrong. */
#define SFT_FILE 1
/* The file may be valid; the memory that was passed is too small, or the call cannot handle this file. */
#define SFT_LIMIT 2
/* The model is not the one that the program expects, or the caller made a mistake. */
#define SFT_USAGE 3
/* A callback failed, or the storage ended early (storage.end) or is full (storage.full). */
#define SFT_STORAGE 4

/* The error of one call. After a call that succeeded, and in zeroed memory, its sentence is "no error". 64 bytes. */
typedef struct sft_error {
    /* The offset in the file, or for storage.failed and storage.lost of slots the address in the flash; 0 if the
     * error has none. */
    uint64_t at;
    /* What the callback returned, for storage.failed and storage.count; otherwise 0. */
    int32_t storage;
    /* The index of the request or target that the model does not match, or of the request, spec or pair that is not
     * valid; -1 for other errors. */
    int32_t request;
    uint64_t private_[6];
} sft_error;

/* Writes the stable code of an error, such as "usage.shape", and a final 0 into `text`, cut where `text` ends.
 * Returns the full length of the code without the final 0; 0 if `text` is NULL and `len` is not 0. SFT_CODE_LEN
 * bytes are enough for every code. It takes at most 3,072 bytes of flash. */
size_t sft_error_code(const sft_error *error, char *text, size_t len);

#define SFT_CODE_LEN 40

/* As sft_error_code, for a sentence with the code, the offset and the numbers. 200 bytes are enough for
 * nearly every sentence. It takes at most 23,552 bytes of flash, because it formats numbers and dtypes. */
size_t sft_error_sentence(const sft_error *error, char *text, size_t len);

/* ---- Tensors ----------------------------------------------------------------------------------------- */

/* The dtypes. Several can be combined with `|`. */
#define SFT_BOOL (UINT32_C(1) << 0)
#define SFT_F4 (UINT32_C(1) << 1)
#define SFT_F6_E2M3 (UINT32_C(1) << 2)
#define SFT_F6_E3M2 (UINT32_C(1) << 3)
#define SFT_U8 (UINT32_C(1) << 4)
#define SFT_I8 (UINT32_C(1) << 5)
#define SFT_F8_E5M2 (UINT32_C(1) << 6)
#define SFT_F8_E4M3 (UINT32_C(1) << 7)
#define SFT_F8_E8M0 (UINT32_C(1) << 8)
#define SFT_F8_E4M3FNUZ (UINT32_C(1) << 9)
#define SFT_F8_E5M2FNUZ (UINT32_C(1) << 10)
#define SFT_I16 (UINT32_C(1) << 11)
#define SFT_U16 (UINT32_C(1) << 12)
#define SFT_F16 (UINT32_C(1) << 13)
#define SFT_BF16 (UINT32_C(1) << 14)
#define SFT_I32 (UINT32_C(1) << 15)
#define SFT_U32 (UINT32_C(1) << 16)
#define SFT_F32 (UINT32_C(1) << 17)
#define SFT_C64 (UINT32_C(1) << 18)
#define SFT_F64 (UINT32_C(1) << 19)
#define SFT_I64 (UINT32_C(1) << 20)
#define SFT_U64 (UINT32_C(1) << 21)
#define SFT_ANY_DTYPE 0

/* The most dimensions that a tensor can have here. */
#define SFT_MAX_RANK 8
/* In a request: any number of dimensions of any size. */
#define SFT_ANY_RANK 255
/* In a request: any size of this dimension. */
#define SFT_ANY_SIZE UINT64_MAX

/* A tensor that the program expects. A table of them can be const, in flash. A name with U+0000 cannot be
 * requested. */
typedef struct sft_request {
    const char *name;
    /* One or more dtypes, or SFT_ANY_DTYPE. */
    uint32_t dtypes;
    /* The number of dimensions, or SFT_ANY_RANK. */
    uint8_t rank;
    /* 0 if the tensor must exist. */
    uint8_t optional;
    /* The dimensions, outermost first. */
    uint64_t shape[SFT_MAX_RANK];
} sft_request;

/* For tables: a tensor that must exist. For a scalar, write 0 after the rank:
 *     SFT_REQUIRED("fc.weight", SFT_I8, 2, 3, 8)
 *     SFT_REQUIRED("steps", SFT_I64, 0, 0)
 *     SFT_REQUIRED("anything", SFT_ANY_DTYPE, SFT_ANY_RANK, 0) */
#define SFT_REQUIRED(name, dtypes, rank, ...) { (name), (dtypes), (rank), 0, { __VA_ARGS__ } }
/* For tables: a tensor that may be missing. */
#define SFT_OPTIONAL(name, dtypes, rank, ...) { (name), (dtypes), (rank), 1, { __VA_ARGS__ } }

/* A tensor of a model. 128 bytes. */
typedef struct sft_tensor {
    /* The first `rank` are its dimensions, outermost first. */
    uint64_t shape[SFT_MAX_RANK];
    /* The offset of its first byte in the file. */
    uint64_t offset;
    /* Its size in bytes and in elements. */
    uint64_t bytes;
    uint64_t elements;
    /* One of the dtypes above. 0 if it was not found: an optional tensor is missing. */
    uint32_t dtype;
    uint32_t rank;
    uint64_t private_[4];
} sft_tensor;

/* ---- Storage ----------------------------------------------------------------------------------------- */

/* Reads bytes from byte `offset` of the file on. Returns how many, at least 1 and at most `len`; 0 only if
 * the file has no byte at `offset` or after it; a negative number if the storage fails. `context` is that of
 * the storage. `len` is at least 1. */
typedef int32_t (*sft_read_callback)(void *context, uint64_t offset, void *buffer, size_t len);

/* The meaning of `len` of a storage. No read goes beyond `len`. With an exact length, opening also checks that the file
 * is complete. Otherwise a cut file may open; reading the missing data is the error storage.end. */
#define SFT_LEN_EXACT 0   /* the length of the file */
#define SFT_LEN_AT_MOST 1 /* the length of a partition, which may be longer than the file */
#define SFT_LEN_UNKNOWN 2 /* no length: `len` is ignored */
#define SFT_LEN_MEMORY 3  /* as SFT_LEN_EXACT, and `context` is the file itself; `read` is NULL */

typedef struct sft_storage {
    sft_read_callback read;
    void *context;
    uint64_t len;
    uint32_t len_is;
} sft_storage;

static inline sft_storage sft_callbacks(sft_read_callback read, void *context, uint64_t len, uint32_t len_is)
{
    sft_storage storage;
    storage.read = read;
    storage.context = context;
    storage.len = len;
    storage.len_is = len_is;
    return storage;
}

/* A complete file in memory, or in flash that the processor reads like memory. */
static inline sft_storage sft_memory(const void *file, size_t len)
{
    return sft_callbacks(NULL, (void *)(uintptr_t)file, len, SFT_LEN_MEMORY);
}

/* ---- Models ------------------------------------------------------------------------------------------ */

#if UINTPTR_MAX > 0xFFFFFFFFu
#define SFT_MODEL_WORDS 9 /* @64 */
#else
#define SFT_MODEL_WORDS 7 /* @32 */
#endif

/* An open model. 72 bytes, 56 where pointers have 32 bits. Borrows nothing but the context of its storage. */
typedef struct sft_model {
    uint64_t private_[SFT_MODEL_WORDS];
} sft_model;

/* Opens and validates a model, and finds the requested tensors, in one pass over its header.
 *
 * `tensors` has `count` elements, as `requests`; both may be empty. `window` is a buffer of at least 1 byte
 * through which the header is read; larger windows mean fewer reads. You can reuse it afterwards.
 *
 * Fails with the code usage.missing, usage.dtype, usage.rank or usage.shape if a tensor is not as requested;
 * `error.request` is its number. limit.order: the tensors are not in the order of their offsets; use
 * sft_open_unordered. After an error the model is not open, and all `tensors` have the dtype 0
 * (unless the pointers are wrong: c.null, c.aligned, c.length, c.overlap, c.reentered).
 *
 * Memory: at most 900 bytes of stack on a Cortex-M3 and RV32, besides the objects. */
sft_status sft_open(sft_model *model, const sft_storage *storage, const sft_request *requests,
                    sft_tensor *tensors, size_t count, void *window, size_t window_len, sft_error *error);

/* Memory to sort or compare tensors. 24 bytes. */
typedef struct sft_slot {
    uint64_t private_[3];
} sft_slot;

/* As sft_open, without requests, for a header that lists its tensors in any order. More slots mean fewer
 * passes over the header. */
sft_status sft_open_unordered(sft_model *model, const sft_storage *storage, sft_slot *slots, size_t slot_count,
                              void *window, size_t window_len, sft_error *error);

/* Finds tensors in an open model, in one pass over its header, as sft_open does. After an error all `tensors`
 * have the dtype 0 (unless the pointers are wrong, or the model is not open), and the model is still open. */
sft_status sft_find(sft_model *model, const sft_request *requests, sft_tensor *tensors, size_t count,
                    void *window, size_t window_len, sft_error *error);

/* Receives one tensor. `name` is valid UTF-8 of `name_len` bytes without a final 0. Both end with the call. */
typedef void (*sft_visit_callback)(void *context, const char *name, size_t name_len, const sft_tensor *tensor);

/* Calls `visit` for each tensor, in the order of the header. The longest name must fit into `name` (limit.name),
 * and no tensor may have more than SFT_MAX_RANK dimensions (limit.rank). Do not rely on the tensors before this
 * has returned SFT_OK. Memory: at most 1,024 bytes of stack on a Cortex-M3, besides that of `visit`. */
sft_status sft_for_each(sft_model *model, sft_visit_callback visit, void *context, void *name, size_t name_len,
                        void *window, size_t window_len, sft_error *error);

/* Checks that no two tensors have the same name, and no two keys of the metadata are the same. sft_find
 * checks the requested names only. There must be at least 2 slots (limit.slots); more mean fewer passes over the
 * header. `text`, of any length above 0 (limit.text), holds a part of a name while it is compared. `key` is NULL, or
 * two random numbers, against files that are made to take many passes. */
sft_status sft_validate_names(sft_model *model, const uint64_t *key, sft_slot *slots, size_t slot_count,
                              void *text, size_t text_len, void *window, size_t window_len, sft_error *error);

/* Copies the value of a key of the metadata and a final 0 into `value`. If there is no such key, `found` becomes
 * 0 and `value` empty; otherwise `found` becomes 1. `found` may be NULL. limit.value: `value` is too small. c.nul: the
 * value has a character U+0000. After an error, the contents of `value` are unspecified. */
sft_status sft_metadata(sft_model *model, const char *key, char *value, size_t len, int *found, void *window,
                        size_t window_len, sft_error *error);

/* ---- Reading ----------------------------------------------------------------------------------------- */

/* For all functions that read, the tensor must come from this model: one from a model with another header is the
 * error c.tensor. Tensors of a receiver, or that you describe yourself, are only checked against the length of the
 * data. After an error the memory may hold anything. Memory: at most 900 bytes of stack on a Cortex-M3. */

/* Reads `len` bytes of a tensor, from byte `offset` of the tensor on, as they are in the file: little-endian. */
sft_status sft_read_bytes(sft_model *model, const sft_tensor *tensor, uint64_t offset, void *bytes, size_t len,
                          sft_error *error);

/* Each reads `count` numbers of a tensor, from number `first` on (of a matrix, row r begins at r * columns). For C64,
 * `first` and `count` count numbers, two for each element. The type must hold every value of the tensor's dtype: I8
 * can be read as float. Otherwise the code is usage.lossy (always for F64 as float) or usage.conversion
 * (F32 as int8_t). The bytes are read into `values` and converted there. */
sft_status sft_read_f32(sft_model *model, const sft_tensor *tensor, uint64_t first, float *values, size_t count, sft_error *error);
sft_status sft_read_f64(sft_model *model, const sft_tensor *tensor, uint64_t first, double *values, size_t count, sft_error *error);
sft_status sft_read_i8(sft_model *model, const sft_tensor *tensor, uint64_t first, int8_t *values, size_t count, sft_error *error);
sft_status sft_read_u8(sft_model *model, const sft_tensor *tensor, uint64_t first, uint8_t *values, size_t count, sft_error *error);
sft_status sft_read_i16(sft_model *model, const sft_tensor *tensor, uint64_t first, int16_t *values, size_t count, sft_error *error);
sft_status sft_read_u16(sft_model *model, const sft_tensor *tensor, uint64_t first, uint16_t *values, size_t count, sft_error *error);
sft_status sft_read_i32(sft_model *model, const sft_tensor *tensor, uint64_t first, int32_t *values, size_t count, sft_error *error);
sft_status sft_read_u32(sft_model *model, const sft_tensor *tensor, uint64_t first, uint32_t *values, size_t count, sft_error *error);
sft_status sft_read_i64(sft_model *model, const sft_tensor *tensor, uint64_t first, int64_t *values, size_t count, sft_error *error);
sft_status sft_read_u64(sft_model *model, const sft_tensor *tensor, uint64_t first, uint64_t *values, size_t count, sft_error *error);
/* As sft_read_f32, but dtypes that would be usage.lossy, such as F64 and I32, are rounded to the nearest float. */
sft_status sft_read_rounded_f32(sft_model *model, const sft_tensor *tensor, uint64_t first, float *values, size_t count, sft_error *error);

/* ---- Integrity --------------------------------------------------------------------------------------- */

/* Each reads the whole file once, through `buffer` (or the window). A larger buffer means fewer reads. A sum
 * that differs is the error integrity.sum. Memory: at most 1,472 bytes of stack on a Cortex-M3. */

/* The SHA-256 of the file, as `sha256sum` prints it. */
sft_status sft_verify_sha256(sft_model *model, const uint8_t sum[32], void *buffer, size_t len, sft_error *error);
/* The CRC-32 of the file, as in zip files. */
sft_status sft_verify_crc32(sft_model *model, uint32_t sum, void *buffer, size_t len, sft_error *error);
/* The SHA-256 that `safetensors hash --embed` wrote into the file. usage.sum: the file has none. */
sft_status sft_verify_embedded(sft_model *model, void *buffer, size_t len, sft_error *error);

/* ---- Receiving --------------------------------------------------------------------------------------- */

#if UINTPTR_MAX > 0xFFFFFFFFu
#define SFT_TARGET_WORDS 22   /* @64 */
#define SFT_RECEIVER_WORDS 34 /* @64 */
#define SFT_VERIFIER_WORDS 36 /* @64 */
#else
#define SFT_TARGET_WORDS 18   /* @32 */
#define SFT_RECEIVER_WORDS 30 /* @32 */
#define SFT_VERIFIER_WORDS 34 /* @32 */
#endif

/* Memory for one target of a receiver. 176 bytes, 144 where pointers have 32 bits. */
typedef struct sft_target {
    uint64_t private_[SFT_TARGET_WORDS];
} sft_target;

/* Receives a model that arrives once, in pieces of any size, and copies the requested tensors into memory. 272
 * bytes, 240 where pointers have 32 bits. */
typedef struct sft_receiver {
    uint64_t private_[SFT_RECEIVER_WORDS];
} sft_receiver;

/* Begins a receiver for at most `capacity` targets. Borrows `targets`. */
sft_status sft_receiver_begin(sft_receiver *receiver, sft_target *targets, size_t capacity, sft_error *error);

/* Each adds a tensor and its destination. Conversion is as in sft_read_f32. The memory must hold the whole tensor;
 * otherwise sft_receiver_push fails (limit.buffer). C64 needs two numbers for each element. Add all targets before any
 * push, even an empty one. Borrows `request`, its name, and the memory. Targets must not overlap. */
sft_status sft_receiver_add_bytes(sft_receiver *receiver, const sft_request *request, void *bytes, size_t len, sft_error *error);
sft_status sft_receiver_add_f32(sft_receiver *receiver, const sft_request *request, float *values, size_t count, sft_error *error);
sft_status sft_receiver_add_f64(sft_receiver *receiver, const sft_request *request, double *values, size_t count, sft_error *error);
sft_status sft_receiver_add_i8(sft_receiver *receiver, const sft_request *request, int8_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_u8(sft_receiver *receiver, const sft_request *request, uint8_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_i16(sft_receiver *receiver, const sft_request *request, int16_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_u16(sft_receiver *receiver, const sft_request *request, uint16_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_i32(sft_receiver *receiver, const sft_request *request, int32_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_u32(sft_receiver *receiver, const sft_request *request, uint32_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_i64(sft_receiver *receiver, const sft_request *request, int64_t *values, size_t count, sft_error *error);
sft_status sft_receiver_add_u64(sft_receiver *receiver, const sft_request *request, uint64_t *values, size_t count, sft_error *error);

/* Takes the next bytes of the file. The header is validated before any data is copied. It must list the tensors in
 * the order of their offsets, as files of the reference do (limit.order): a stream cannot be read again. After an
 * error, except for those with the code c.*, every later push and sft_receiver_end return it again, until you begin
 * again. A byte after the end of the file is the error data.trailing. */
sft_status sft_receiver_push(sft_receiver *receiver, const void *bytes, size_t len, sft_error *error);

/* Returns how many bytes are missing, as far as that is known yet. If you read no more than this, you do not read
 * past the model. 0 after the last byte, after an error, and for a receiver that has not begun. */
uint64_t sft_receiver_remaining(sft_receiver *receiver);

/* Ends the file. Fails unless it is complete. Push no more after it. Use what was received only after SFT_OK. */
sft_status sft_receiver_end(sft_receiver *receiver, sft_error *error);

/* Returns the tensor of a target, counted from 0 in the order in which they were added; `tensor->dtype` is 0 if it
 * is optional and missing, and before the header is complete. */
sft_status sft_receiver_tensor(sft_receiver *receiver, size_t target, sft_tensor *tensor, sft_error *error);

/* Does the same as sft_verify_embedded for a file that arrives once, in pieces of any size. 288 bytes, 272 where
 * pointers have 32 bits. Borrows nothing. Memory: at most 1,152 bytes of stack on a Cortex-M3. */
typedef struct sft_verifier {
    uint64_t private_[SFT_VERIFIER_WORDS];
} sft_verifier;

/* Begins a file. */
sft_status sft_verifier_begin(sft_verifier *verifier, sft_error *error);

/* Takes the next bytes of the file. An error of the file is returned by sft_verifier_verify. */
sft_status sft_verifier_update(sft_verifier *verifier, const void *bytes, size_t len, sft_error *error);

/* Ends the file, and compares its sum with the sum in it. Fails with integrity.sum, with usage.sum if the file has
 * none, integrity.digits if that is no sum, and errors of the header, except for those of shapes and offsets. Afterwards, also after an error, the
 * verifier is not open any more. */
sft_status sft_verifier_verify(sft_verifier *verifier, sft_error *error);

/* ---- Writing ----------------------------------------------------------------------------------------- */

/* Storage for a file that is valid only when it is complete. */
typedef struct sft_sink {
    /* Writes bytes at byte `offset` of the file. Returns how many, at least 1 (a multiple of `unit`); 0 if there
     * is no space; a negative number if the storage fails. */
    int32_t (*write)(void *context, uint64_t offset, const void *bytes, size_t len);
    /* Prepares storage for a file of `file_len` bytes (and the padding to a whole unit) whose data begins at byte
     * `data_start`: sets its first 8 bytes to 0xFF, or all of its first unit if that is longer, because old bytes in
     * it could complete a header that a power cut left incomplete. Each byte is then written once: the data, the
     * header from its front, and last the first bytes of the file. NOR flash is erased here, from its first sector
     * on. Returns 0; any other number is an error. NULL if bytes can be rewritten and `unit` is at most 8: then the
     * first 8 bytes, with a unit of 8 the first 16, are overwritten. */
    int32_t (*prepare)(void *context, uint64_t data_start, uint64_t file_len);
    /* Waits until all bytes are stored and survive a power failure. Returns 0; any other number is an error. NULL if
     * nothing is buffered. */
    int32_t (*flush)(void *context);
    void *context;
    /* The space for the file with its padding, in bytes. A longer one is the error limit.capacity, before anything is
     * overwritten. */
    uint64_t capacity;
    /* Offsets and lengths of writes are multiples of this power of two, 1 for bytes. The file is padded with 0xFF to a
     * multiple of it: open such a file with SFT_LEN_AT_MOST. */
    size_t unit;
} sft_sink;

/* A tensor to write. */
typedef struct sft_spec {
    const char *name;
    uint32_t dtype;
    uint32_t rank;
    uint64_t shape[SFT_MAX_RANK];
} sft_spec;

/* A key and a value of the metadata. */
typedef struct sft_pair {
    const char *key;
    const char *value;
} sft_pair;

#if UINTPTR_MAX > 0xFFFFFFFFu
#define SFT_RECORDER_WORDS 38      /* @64 */
#define SFT_FILE_RECEIVER_WORDS 47 /* @64 */
#else
#define SFT_RECORDER_WORDS 25      /* @32 */
#define SFT_FILE_RECEIVER_WORDS 39 /* @32 */
#endif

/* The extra words of memory that a recorder of this many tensors and pairs needs:
 *     uint64_t memory[SFT_RECORDER_MEMORY(2, 1)];
 * With neither tensors nor pairs, pass NULL. */
#define SFT_RECORDER_MEMORY(tensors, pairs) (((5 * (tensors) + 4 * (pairs)) * sizeof(void *) + 7) / 8)

/* Writes a file into a sink. 304 bytes, 200 where pointers have 32 bits. */
typedef struct sft_recorder {
    uint64_t private_[SFT_RECORDER_WORDS];
} sft_recorder;

/* Begins a file: prepares the sink. Sort `specs` by dtype, from SFT_U64 down to SFT_BOOL (the reverse of the list
 * above), then by name, and `pairs` by key: the order of the Rust crate `safetensors`. Otherwise: usage.order. `buffer`
 * has at least 8 bytes and at least one unit of the sink. Borrows the sink's context, `specs`, `pairs`, their strings,
 * `memory` and `buffer`. Memory: at most 1,280 bytes of stack on a Cortex-M3. */
sft_status sft_recorder_begin(sft_recorder *recorder, const sft_sink *sink, const sft_spec *specs, size_t count,
                              const sft_pair *pairs, size_t pair_count, uint64_t *memory, size_t memory_words,
                              void *buffer, size_t buffer_len, sft_error *error);

/* Each writes the next bytes or values of one tensor, all or a part of it; write the tensors in the order of `specs`.
 * Values must have the tensor's dtype. SFT_STORAGE closes the recorder, and the file is not valid: begin again. After
 * all other errors nothing was written, and the recorder can continue. */
sft_status sft_recorder_write_bytes(sft_recorder *recorder, const void *bytes, size_t len, sft_error *error);
sft_status sft_recorder_write_f32(sft_recorder *recorder, const float *values, size_t count, sft_error *error);
sft_status sft_recorder_write_f64(sft_recorder *recorder, const double *values, size_t count, sft_error *error);
sft_status sft_recorder_write_i8(sft_recorder *recorder, const int8_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_u8(sft_recorder *recorder, const uint8_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_i16(sft_recorder *recorder, const int16_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_u16(sft_recorder *recorder, const uint16_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_i32(sft_recorder *recorder, const int32_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_u32(sft_recorder *recorder, const uint32_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_i64(sft_recorder *recorder, const int64_t *values, size_t count, sft_error *error);
sft_status sft_recorder_write_u64(sft_recorder *recorder, const uint64_t *values, size_t count, sft_error *error);

/* Makes the file valid: its first bytes are written last. Fails if data is missing (usage.incomplete). Afterwards,
 * also after an error, the recorder is not open any more. */
sft_status sft_recorder_finish(sft_recorder *recorder, sft_error *error);

/* Writes a file that arrives once into a sink, such as a new model into a partition of flash, and validates its
 * header on the way. From begin until the end of finish, the sink has no valid file: also not after a lost
 * line or a power failure. 376 bytes, 312 where pointers have 32 bits. */
typedef struct sft_file_receiver {
    uint64_t private_[SFT_FILE_RECEIVER_WORDS];
} sft_file_receiver;

/* Begins a file of `file_len` bytes: prepares the sink, whose old contents are lost. The file must have the requested
 * tensors. `tensors` has `count` elements, as `requests`; both may be empty. `buffer` has at least 8 bytes; with a
 * unit above 8, at least two units: the first holds the first unit of the file. With a page or a block for the rest,
 * each is written once. Borrows the sink's context, `requests`, their names, `tensors` and `buffer`: `tensors` has no
 * tensor before finish.
 *
 * Fails with container.short (no file has so few bytes), limit.buffer or limit.capacity before anything is overwritten.
 * After an error the receiver is not open, and all `tensors` have the dtype 0 (unless the pointers are wrong, as for
 * sft_open). Memory: at most 1,344 bytes of stack on a Cortex-M3, also of push and finish. */
sft_status sft_file_receiver_begin(sft_file_receiver *receiver, const sft_sink *sink, uint64_t file_len,
                                   const sft_request *requests, sft_tensor *tensors, size_t count, void *buffer,
                                   size_t buffer_len, sft_error *error);

/* Takes the next bytes of the file, in a piece of any size. Fails as soon as the header is not valid, has another
 * order (limit.order, as for sft_receiver_push), describes a file of another length (data.short, data.trailing), has
 * data in the first unit of a sink with a unit above 8 (limit.unit), or lacks a request (usage.missing and others, as
 * sft_open). Every error but those with the code c.* closes the receiver: all `tensors` have the dtype 0, and you begin
 * again. Values are not checked: use an sft_verifier beside it. */
sft_status sft_file_receiver_push(sft_file_receiver *receiver, const void *bytes, size_t len, sft_error *error);

/* Makes the file valid: its first bytes are written last. Fails if bytes are missing. If the sink fails, it has no
 * valid file or the complete one. Afterwards, also after an error, the receiver is not open any more. `tensors` are those of the file; after an error they have the dtype 0. What was
 * stored is not read back: before you use it in place of an older file, call sft_open and sft_verify_embedded. */
sft_status sft_file_receiver_finish(sft_file_receiver *receiver, sft_error *error);

/* ---- Slots ------------------------------------------------------------------------------------------- */

/* A NOR flash, and its part for models: a journal, then slots of equal lengths. Callbacks return 0; any other number is
 * an error, and NULL is one that always fails. Reads have any address and length, those of writes are multiples of 16,
 * those of erasures multiples of 4096; the units of the chip may be smaller. If its sectors are larger, set the
 * environment variable SAFETENSORS_SECTOR to their length when you build the library. */
typedef struct sft_flash {
    int32_t (*read)(void *context, uint32_t address, void *bytes, size_t len);
    /* Write and erase wait until the flash keeps it without power. What is written was erased before. */
    int32_t (*write)(void *context, uint32_t address, const void *bytes, size_t len);
    int32_t (*erase)(void *context, uint32_t from, uint32_t to);
    void *context;
    uint32_t from, to; /* where the part begins and ends */
    uint8_t journal;   /* its sectors, 3 or more */
    uint8_t slots;     /* 2 or more */
} sft_flash;

#define SFT_CONFIRMED 0
#define SFT_ARRIVING 1
#define SFT_VERIFIED 2
#define SFT_TRIAL 3

/* A model in a slot. 64 bytes, 56 where pointers have 32 bits. Borrows the flash. */
typedef struct sft_installed {
    const sft_flash *flash; /* NULL if there is no model */
    uint32_t address;       /* where its file begins in the flash */
    uint32_t len, counter, phase;
    uint32_t number; /* SFT_ARRIVING: the bytes that the flash has for certain; SFT_TRIAL: the starts that are left */
    uint8_t sum[32];
} sft_installed;

/* The file of a model, for all functions that read: its callback, and its storage, which borrows `model`. */
static inline int32_t sft_installed_read(void *model, uint64_t offset, void *buffer, size_t len)
{
    const sft_installed *it = (const sft_installed *)model;
    const int32_t status = it->flash->read(it->flash->context, it->address + (uint32_t)offset, buffer, len);
    return status == 0 ? (int32_t)len : status < 0 ? status : -1;
}
static inline sft_storage sft_installed_storage(const sft_installed *model)
{
    return sft_callbacks(sft_installed_read, (void *)(uintptr_t)model, model->len, SFT_LEN_EXACT);
}

#if UINTPTR_MAX > 0xFFFFFFFFu
#define SFT_SLOTS_WORDS 30 /* @64 */
#else
#define SFT_SLOTS_WORDS 26 /* @32 */
#endif

/* Models in slots. One is confirmed; another may arrive, and is tried before it replaces it. After any interruption
 * the confirmed model is whole, the old one or the new one. 240 bytes, 208 where pointers have 32 bits. */
typedef struct sft_slots {
    uint64_t private_[SFT_SLOTS_WORDS];
} sft_slots;

/* Begins slots. `page` has at least 128 bytes, aligned for the driver; a page of the flash is fast. Borrows `flash`,
 * its context and `page`. */
sft_status sft_slots_begin(sft_slots *slots, const sft_flash *flash, void *page, size_t page_len, sft_error *error);

/* Reads the journal, and completes or undoes a change that was interrupted. Returns the model to use from now on: the
 * one that is tried, if it has starts left, otherwise the confirmed one. Takes one of the starts: once, also if you
 * call it again, as you must after every storage.failed; a call that fails may take one, too. Until it succeeds,
 * what changes slots fails with c.start. Fails with c.layout or limit.page. After an error `model` is unchanged;
 * sft_slots_models may know a confirmed one. */
sft_status sft_slots_start(sft_slots *slots, sft_installed *model, sft_error *error);
/* Returns the confirmed model, and the next one: it arrives, is verified or is tried. */
sft_status sft_slots_models(sft_slots *slots, sft_installed *confirmed, sft_installed *next, sft_error *error);

/* Each begins to receive the model of an offer, or continues: as its file, or as a delta. `from` becomes the next byte
 * of it to push. Fails with usage.offer (no offer), usage.other-model (abandon that one first), c.phase,
 * usage.rollback (the counter is lower than the confirmed model's), usage.base (no model for the delta), limit.slot,
 * limit.no-slot. No signature is checked here: if strangers can send offers, call your `is_signed` first, with the key
 * number, `offer` and `offer + 64`. */
sft_status sft_slots_receive(sft_slots *slots, const uint8_t offer[128], uint32_t *from, sft_error *error);
sft_status sft_slots_receive_delta(sft_slots *slots, const uint8_t offer[128], uint32_t *from, sft_error *error);

/* Takes the next bytes of the file or the delta. Fails with usage.surplus (more than the offer says), c.phase,
 * usage.base and delta.piece (a delta of another model), storage.lost (call receive again, which says where to
 * continue). */
sft_status sft_slots_push(sft_slots *slots, const void *bytes, size_t len, sft_error *error);

/* Returns 1 if the owner of the key with this number signed the message. NULL accepts nobody (usage.signature). */
typedef int32_t (*sft_signed_callback)(uint32_t key, const uint8_t message[64], const uint8_t signature[64]);
/* The same for a public key of Ed25519. It takes more flash than the rest of slots. Libraries that are
 * built with --no-default-features lack it. */
int32_t sft_ed25519(const uint8_t key[32], const uint8_t message[64], const uint8_t signature[64]);

/* Verifies a model that has arrived: who signed its offer (usage.signature) and its class of devices (usage.device);
 * then the file in the flash: its header, the requested tensors as in sft_open, and its sum (integrity.sum).
 * `tensors` is memory for the requests: afterwards all have the dtype 0. */
sft_status sft_slots_verify(sft_slots *slots, const uint8_t offer[128], const uint8_t device[16],
                            sft_signed_callback is_signed, const sft_request *requests, sft_tensor *tensors,
                            size_t count, sft_error *error);

/* Tries a verified model for so many starts, from the next one on. */
sft_status sft_slots_try(sft_slots *slots, uint8_t starts, sft_error *error);
/* Confirms the model that is tried, if sft_slots_start returned it. */
sft_status sft_slots_confirm(sft_slots *slots, sft_error *error);
/* Forgets the next model, in any phase. */
sft_status sft_slots_abandon(sft_slots *slots, sft_error *error);

#ifdef __cplusplus
}
#endif

#endif
