/* Files and what is expected of them, one after another in one file: a pack. `cargo run -p verification --bin c`
 * writes one.
 *
 * It begins with the 8 bytes `SFTPACK1`. A record is a head of 12 bytes (kind, request, three lengths of 2 bytes,
 * the length of the file in 4 bytes; little-endian), then name, code, text and file. The last record has kind 0. */
#ifndef PACK_H
#define PACK_H

#include <safetensors.h>

#define PACK_NAME_LEN 96
#define PACK_TEXT_LEN 128

/* A vector; `text` has keys of its metadata, each with a final 0. */
#define PACK_VECTOR 'V'
/* The model that the program expects; `text` is its SHA-256. */
#define PACK_RIGHT 'R'
/* A model that is rejected with this code; its sentence contains `text`. */
#define PACK_WRONG 'W'
/* A model that only the sum of the right one tells from it. */
#define PACK_DAMAGED 'D'
/* The right model with its embedded sum. */
#define PACK_EMBEDDED 'E'
/* A damaged model with the embedded sum of the right one. */
#define PACK_DAMAGED_EMBEDDED 'F'

/* A range of another storage, as a file. */
typedef struct pack_part {
    const sft_storage *storage;
    uint64_t start;
    uint64_t len;
} pack_part;

/* A record. */
typedef struct pack_record {
    char kind;
    /* The number of the request that the error is about, or -1. */
    int32_t request;
    char name[PACK_NAME_LEN];
    char code[SFT_CODE_LEN];
    char text[PACK_TEXT_LEN];
    size_t text_len;
    pack_part file;
} pack_record;

typedef struct pack {
    const sft_storage *storage;
    uint64_t at;
} pack;

/* Reads all of these bytes of a storage. Returns whether that is possible. */
int pack_read(const sft_storage *storage, uint64_t at, void *bytes, size_t len);

/* Begins to read a pack. Returns whether the storage has one. */
int pack_begin(pack *from, const sft_storage *storage);

/* Reads the next record. Returns 1, 0 after the last one, or -1 if the pack cannot be read. */
int pack_next(pack *from, pack_record *record);

/* The file of a record. It borrows the record. */
sft_storage pack_file(pack_record *record);

#endif
