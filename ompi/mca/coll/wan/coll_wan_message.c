/*
 * Messages for users.  The text is in help-mpi-coll-wan.txt.  Where that file is
 * nowhere, the message is printed without its text: a user must never read "sorry,
 * no help file" in its place.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include "opal/mca/installdirs/installdirs.h"
#include "opal/util/proc.h"
#include "wan_show_help.h"

void mca_coll_wan_message_show(const char *topic, const wan_message_t *message)
{
    static const char file[] = "help-mpi-coll-wan.txt";
    static int found = -1;
    char host[256] = "";

    gethostname(host, sizeof(host) - 1);
    WAN_VERBOSE(1, "%s: %s; %s", message->where, message->what, message->remedy);
    if (-1 == found) {
        found = wan_help_found(file, &mca_coll_wan_component);
    }
    if (found) {
        wan_show_help(file, topic, host, message->where, message->what, message->remedy);
    } else {
        opal_output(0, "coll/wan: %s: %s; %s", message->where, message->what, message->remedy);
    }
}
