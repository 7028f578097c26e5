/*
 * Messages for users.  The text is in help-mpi-coll-wan.txt; Open MPI looks for
 * it in its own data directory, to which we add the directory of this plugin
 * and the one it was configured for.  Where the file is in none of them, the
 * message is printed without its text: a user must never read "sorry, no help
 * file" in its place.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "opal/mca/installdirs/installdirs.h"

static const char help_file[] = "help-mpi-coll-wan.txt";

static bool directory_has_help(const char *directory)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", directory, help_file);
    return 0 == access(path, R_OK);
}

static bool help_found(void)
{
    static int found = -1;
    char path[PATH_MAX];
    const char *directory;
    Dl_info info;

    if (-1 != found) {
        return found;
    }
    found = directory_has_help(opal_install_dirs.opaldatadir);
    if (!found && 0 != dladdr(&mca_coll_wan_component, &info) && NULL != info.dli_fname) {
        snprintf(path, sizeof(path), "%s", info.dli_fname);
        directory = dirname(path);
        if (directory_has_help(directory)) {
            opal_show_help_add_dir(directory);
            found = true;
        }
    }
    if (!found && directory_has_help(WAN_HELPDIR)) {
        opal_show_help_add_dir(WAN_HELPDIR);
        found = true;
    }
    return found;
}

void mca_coll_wan_message_show(const char *topic, const wan_message_t *message)
{
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    /* Of its own: the launcher of Open MPI 4.1 loses messages for users now and then. */
    WAN_VERBOSE(1, "%s: %s; %s", message->where, message->what, message->remedy);
    if (help_found()) {
        opal_show_help(help_file, topic, true, host, message->where, message->what, message->remedy);
    } else {
        opal_output(0, "coll/wan: %s: %s; %s", message->where, message->what, message->remedy);
    }
}
