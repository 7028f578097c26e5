/*
 * Preloaded into some ranks of a test job: what fails there, or what a runtime
 * says that is not here.  The plugin knows nothing of it.
 *
 *   WAN_FAULT_KEY=TEXT   PMIx_Get of keys that begin so returns an error,
 *   WAN_FAULT_TIMES=N    the first N times (default: always)
 *   WAN_FAULT_BYTES=N    malloc of exactly N bytes finds none, while the
 *                        program has set wan_fault_armed
 *   WAN_FAULT_ANSWER=TEXT  ... but with this string as the answer: none fails
 *   WAN_FAULT_OF=job     ... and only where the job is asked about, not one process
 *   WAN_FAULT_COUNT=FILE  appends a line for each lookup of WAN_FAULT_KEY: none fails
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);

__attribute__((visibility("default"))) volatile int wan_fault_armed;

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    if (wan_fault_armed) {
        const char *fault = getenv("WAN_FAULT_BYTES");

        if (NULL != fault && bytes == strtoull(fault, NULL, 10)) {
            errno = ENOMEM;
            return NULL;
        }
    }
    return __libc_malloc(bytes);
}

static int asked_for(const char *key)
{
    const char *prefix = getenv("WAN_FAULT_KEY");

    return NULL != prefix && NULL != key && 0 == strncmp(key, prefix, strlen(prefix));
}

/* What pmix_value_t of PMIx 3 to 5 begins with, and its number for a string. */
struct answer {
    uint16_t type;
    union {
        char *string;
        uint64_t room[16];
    } data;
};
enum { type_string = 3 };

/* What pmix_proc_t begins with, and the rank that stands for all of a job. */
struct process {
    char job[256];
    uint32_t rank;
};
#define RANK_WILDCARD (UINT32_MAX - 1)

static int lookup_answers(const struct process *process, const char *key, void **value)
{
    const char *text = getenv("WAN_FAULT_ANSWER");
    struct answer *answer;

    if (NULL != getenv("WAN_FAULT_OF") && (NULL == process || RANK_WILDCARD != process->rank)) {
        return 0;
    }
    if (NULL == text || !asked_for(key) || NULL == (answer = calloc(1, sizeof(*answer)))) {
        return 0;
    }
    answer->type = type_string;
    answer->data.string = strdup(text);
    *value = answer;
    return 1;
}

static int lookup_fails(const char *key)
{
    static int failed;
    const char *times = getenv("WAN_FAULT_TIMES");
    const char *count = getenv("WAN_FAULT_COUNT");

    if (!asked_for(key)) {
        return 0;
    }
    if (NULL != count) {
        FILE *file = fopen(count, "a");

        if (NULL != file) {
            fputs("lookup\n", file);
            fclose(file);
        }
        return 0;
    }
    return NULL == times || failed++ < atoi(times);
}

__attribute__((visibility("default")))
int PMIx_Get(const void *process, const char *key, const void *info, size_t infos, void **value)
{
    static int (*next)(const void *, const char *, const void *, size_t, void **);

    if (NULL == next) {
        *(void **) &next = dlsym(RTLD_NEXT, "PMIx_Get");
    }
    if (lookup_answers(process, key, value)) {
        return 0;       /* PMIX_SUCCESS */
    }
    if (NULL == next || lookup_fails(key)) {
        return -1;      /* PMIX_ERROR */
    }
    return next(process, key, info, infos, value);
}
