/*
 * Messages for users, as opal_show_help() has them, printed by the process itself:
 * mpirun of Open MPI 4.1, which collects such messages, takes them from a thread that it shares
 * nothing with, loses some, and now and then crashes of one.  Of equal messages of a
 * job's processes on a host the first alone is printed.
 *
 * For components' glue; include "opal/util/show_help.h", "opal/util/proc.h" and
 * "opal/mca/installdirs/installdirs.h" before.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef WAN_SHOW_HELP_H
#define WAN_SHOW_HELP_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Makes a file of help texts known to Open MPI, which looks for it in its own data directory: where it is not,
 * that of this plugin (`component`: anything in it) or the one it was configured for.  Whether it is in any.
 */
static inline bool wan_help_found(const char *file, const void *component)
{
    const char *directories[] = { opal_install_dirs.opaldatadir, NULL, WAN_HELPDIR };
    char path[PATH_MAX], own[PATH_MAX];
    Dl_info info;

    if (0 != dladdr(component, &info) && NULL != info.dli_fname) {
        snprintf(own, sizeof(own), "%s", info.dli_fname);
        directories[1] = dirname(own);
    }
    for (int i = 0; i < 3; ++i) {
        if (NULL == directories[i]) {
            continue;
        }
        snprintf(path, sizeof(path), "%s/%s", directories[i], file);
        if (0 == access(path, R_OK)) {
            if (0 < i) {
                opal_show_help_add_dir(directories[i]);
            }
            return true;
        }
    }
    return false;
}

/* Whether no process of this job on this host has said so before.  True where the job has no directory to keep that in. */
static inline bool wan_first_to_say(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);       /* FNV-1a */
    char path[PATH_MAX];
    int fd;

    for (const char *c = text; '\0' != *c; ++c) {
        hash = (hash ^ (unsigned char) *c) * UINT64_C(0x100000001b3);
    }
    if (NULL == opal_process_info.job_session_dir) {
        return true;
    }
    snprintf(path, sizeof(path), "%s/wan-said-%016" PRIx64, opal_process_info.job_session_dir, hash);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (0 <= fd) {
        close(fd);
    }
    return 0 <= fd || EEXIST != errno;
}

/* Shows the message `topic` of a file that wan_help_found(), on stderr; what follows is what its text takes. */
static inline void wan_show_help(const char *file, const char *topic, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, topic);
    text = opal_show_help_vstring(file, topic, true, arguments);
    va_end(arguments);
    if (NULL != text && wan_first_to_say(text)) {
        fputs(text, stderr);
    }
    free(text);
}

#endif
