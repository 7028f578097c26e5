/*
 * Numbers that a user gave a parameter, as Open MPI reads them: decimal, 0x..., 0..., with k, m or g behind them.  Open MPI
 * itself takes what does not fit into 64 bits for another number: 99999999999999999999 for -1, 99999999999g for some other.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_NUMBER_H
#define WAN_NUMBER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum wan_number {
    WAN_NUMBER_GOOD,
    WAN_NUMBER_NONE,            /* it is no number */
    WAN_NUMBER_TOO_LARGE,       /* beyond 2^63 - 1 */
    WAN_NUMBER_TOO_SMALL        /* below -2^63 */
} wan_number_t;

/* *value: of WAN_NUMBER_GOOD alone. */
static inline wan_number_t wan_number_read(const char *text, int64_t *value)
{
    static const char units[] = "kKmMgG";
    const char *unit;
    char *end;
    int64_t factor = 1;
    int before = errno, fault;

    errno = 0;
    *value = strtoll(text, &end, 0);
    fault = errno;
    errno = before;
    if (end == text || strlen(end) > 1) {
        return WAN_NUMBER_NONE;
    }
    if ('\0' != *end) {
        unit = strchr(units, *end);
        if (NULL == unit) {
            return WAN_NUMBER_NONE;
        }
        factor = (int64_t) 1 << 10 * (1 + (unit - units) / 2);
    }
    if (ERANGE == fault || *value > INT64_MAX / factor || *value < INT64_MIN / factor) {
        return *value > 0 ? WAN_NUMBER_TOO_LARGE : WAN_NUMBER_TOO_SMALL;
    }
    *value *= factor;
    return WAN_NUMBER_GOOD;
}

#endif
