/*
 * The links between the sites of a communicator: measured before a blocking call, once
 * calls have taken long enough for that to be little, and again where they have changed.  All of it inside a blocking call
 * that all ranks make, by runs like any other; the core decides what is sent and
 * what the times mean.  Ranks ask each other whether links have changed beside a
 * call, which therefore waits for nothing that it would not wait for anyway.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <stdio.h>
#include <string.h>

/* The core's words: the first line is of sites, what follows, "" before they are known, of links.  Returns that. */
static char *describe(const mca_coll_wan_module_t *module, char *text, size_t size)
{
    char *links;

    wan_comm_describe(module->view, text, size);
    links = text + strcspn(text, "\n");
    if ('\0' != *links) {
        *links++ = '\0';
    }
    return links;
}

static bool someone_listens(const mca_coll_wan_module_t *module)
{
    return 0 == ompi_comm_rank(module->comm) && 1 <= mca_coll_wan_component.params.verbose;
}

static void say_links(const mca_coll_wan_module_t *module, int level, const char *what)
{
    char text[4096];

    if (someone_listens(module)) {
        WAN_VERBOSE(level, "communicator %u: links%s: %s", (unsigned) mca_coll_wan_compat_cid(module->comm), what,
                    describe(module, text, sizeof(text)));
    }
}

/*
 * Whose component a module is, by its class: mca_coll_tuned_module_t.  NULL: ours, nobody's, or one that hands calls on to ours.
 */
static const char *other_component(const mca_coll_wan_module_t *module, mca_coll_base_module_t *base, char *name, size_t size)
{
    static const char prefix[] = "mca_coll_", suffix[] = "_module_t";
    const char *class;
    size_t length;

    if (NULL == base || base == &module->super) {
        return NULL;
    }
    class = ((opal_object_t *) base)->obj_class->cls_name;
    class += 0 == strncmp(class, prefix, sizeof(prefix) - 1) ? sizeof(prefix) - 1 : 0;
    length = strlen(class);
    length -= length >= sizeof(suffix) && 0 == strcmp(class + length + 1 - sizeof(suffix), suffix) ? sizeof(suffix) - 1 : 0;
    snprintf(name, size, "%.*s", (int) length, class);
    return 0 == strcmp(name, "monitoring") || 0 == strcmp(name, "sync") ? NULL : name;
}

/* Blocking collectives that components of a higher priority have. */
static void others_describe(const mca_coll_wan_module_t *module, char *text, size_t size)
{
    const struct mca_coll_base_comm_coll_t *table = module->comm->c_coll;
    char name[64], all[256] = "";
    size_t length = 0, listed = 0;

    text[0] = '\0';
#define OTHER(slot, core)                                                                                               \
    if (NULL != module->super.coll_##slot && length < size                                                              \
        && NULL != other_component(module, table->coll_##slot##_module, name, sizeof(name))) {                          \
        length += snprintf(text + length, size - length, "%s%s", 0 == length ? "; but for blocking " : ", ", #slot);    \
        if (NULL == strstr(all, name) && listed < sizeof(all)) {                                                        \
            listed += snprintf(all + listed, sizeof(all) - listed, "%s%s", 0 == listed ? "" : ", ", name);              \
        }                                                                                                               \
    }
    WAN_EACH(OTHER)
#undef OTHER
    if (0 < length && length < size) {
        snprintf(text + length, size - length, ": %s, of a higher priority than coll_wan_priority, %d", all,
                 mca_coll_wan_component.params.priority);
    }
}

void mca_coll_wan_links_say(const mca_coll_wan_module_t *module)
{
    char text[4096], others[512], name[WAN_COMMUNICATOR_MAX], *links;

    if (!someone_listens(module)) {
        return;
    }
    links = describe(module, text, sizeof(text));
    others_describe(module, others, sizeof(others));
    WAN_VERBOSE(1, "%s is served: %s%s", mca_coll_wan_message_communicator(module->comm, name), text, others);
    if ('\0' != *links) {
        say_links(module, 2, "");
    }
}

int mca_coll_wan_combine(mca_coll_wan_module_t *module, int64_t *values, int count, ompi_op_t *op)
{
    int rc = NULL != module->serving ? mca_coll_wan_run_combine(module, values, count, op) : WAN_NOT_OURS;

    return WAN_NOT_OURS == rc ? mca_coll_wan_module_exchange(module, values, count, op) : rc;
}

/* Once.  OMPI_ code; *code: what the core says to what was found. */
static int measure_round(mca_coll_wan_module_t *module, int *code)
{
    int64_t facts[WAN_FACTS];
    int rc;

    for (;;) {
        mca_coll_wan_port_t port;
        wan_run_t *run = NULL;

        mca_coll_wan_port_construct(&port, module->comm, &ompi_mpi_byte.dt, NULL);
        *code = wan_comm_probe(module->view, &mca_coll_wan_port_pml, &port, &run);
        if (WAN_OK != *code) {
            mca_coll_wan_port_destruct(&port);
            break;
        }
        mca_coll_wan_run_say(module, run);
        mca_coll_wan_port_bind(&port, run,
                               mca_coll_wan_module_tag(module, module->blocking++ % WAN_TAGS_BLOCKING));
        rc = mca_coll_wan_run_wait(run, &port, NULL);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (WAN_DONE != *code) {
        return mca_coll_wan_code(*code, NULL, NULL);
    }
    wan_comm_facts(module->view, facts);
    rc = mca_coll_wan_combine(module, facts, WAN_FACTS, &ompi_mpi_op_max.op);
    if (OMPI_SUCCESS == rc) {
        *code = wan_comm_learn(module->view, facts);
    }
    return rc;
}

/* Each kind once in a job, from rank 0 of the communicator that finds it.  Sites without names are nobody's word. */
static void contradiction_say(const mca_coll_wan_module_t *module)
{
    wan_message_t message;
    int code;

    if (0 != ompi_comm_rank(module->comm) || '\0' == mca_coll_wan_component.site[0]) {
        return;
    }
    memset(&message, 0, sizeof(message));
    code = wan_comm_contradiction(module->view, &message);
    if ('\0' == message.what[0]) {
        return;
    }
    mca_coll_wan_report_event("contradiction", message.what);
    if (WAN_DONE == code) {
        mca_coll_wan_message_show("contradiction", &message);
    } else {
        WAN_VERBOSE(1, "%s: %s; %s", message.where, message.what, message.remedy);
    }
}

int mca_coll_wan_links_measure(mca_coll_wan_module_t *module, bool *anew)
{
    int code = WAN_DONE, rc = OMPI_SUCCESS;

    while (OMPI_SUCCESS == rc && WAN_DONE == code) {
        rc = measure_round(module, &code);
    }
    if (OMPI_SUCCESS == rc) {
        contradiction_say(module);
    }
    if (NULL != anew) {
        *anew = WAN_OK == code;
    }
    return OMPI_SUCCESS != rc || WAN_DECLINED == code ? rc : mca_coll_wan_code(code, NULL, NULL);
}

/* From the next call on. */
static void links_known(mca_coll_wan_module_t *module, const char *what)
{
    __atomic_add_fetch(&module->epoch, 1, __ATOMIC_RELEASE);
    say_links(module, '\0' == *what ? 2 : 1, what);
}

static int measure_again(mca_coll_wan_module_t *module)
{
    const bool doubted = wan_comm_doubts(module->view);
    bool anew = false;
    int rc = mca_coll_wan_links_measure(module, &anew);

    module->early = wan_comm_measures(module->view);
    module->changed = false;
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_module_break(module, rc);
        return rc;
    }
    if (!anew) {
        return OMPI_SUCCESS;
    }
    links_known(module, !doubted ? "" : " have changed and were measured again");
    return OMPI_SUCCESS;
}

int mca_coll_wan_links_refresh(mca_coll_wan_module_t *module)
{
    return module->changed || (module->early && wan_comm_affords(module->view)) ? measure_again(module) : OMPI_SUCCESS;
}

/* code: of the core, whether ranks ask each other what it has filled in. */
static int question_begin(mca_coll_wan_module_t *module, mca_coll_wan_question_t *question, int code)
{
    int rc = mca_coll_wan_code(code, NULL, NULL);

    if (WAN_OK == code) {
        return OMPI_SUCCESS;
    }
    if (OMPI_SUCCESS == rc) {
        rc = mca_coll_wan_beside_begin(module, &question->beside, question->votes, WAN_CHECK_VOTES, &ompi_mpi_op_min.op);
        if (WAN_NOT_OURS == rc && module->early) {      /* on no rank, and never will be: measured now */
            module->changed = true;
            return OMPI_SUCCESS;
        }
        if (WAN_NOT_OURS == rc) {
            return OMPI_SUCCESS;    /* on no rank: links stay what they are */
        }
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_module_break(module, rc);
    }
    return rc;
}

int mca_coll_wan_links_defer(mca_coll_wan_module_t *module, const wan_args_t *args, mca_coll_wan_question_t *question)
{
    question->beside.run = NULL;
    return module->early ? question_begin(module, question, wan_comm_defers(module->view, mca_coll_wan_common_bytes(args), question->votes))
                         : OMPI_SUCCESS;
}

int mca_coll_wan_links_ask(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question)
{
    if (NULL != question->beside.run) {
        return OMPI_SUCCESS;
    }
    return question_begin(module, question,
                          wan_comm_check(module->view, collective, mca_coll_wan_port_pml.now_ns(NULL), question->votes));
}

int mca_coll_wan_links_ask_left(mca_coll_wan_module_t *module, wan_collective_t collective, mca_coll_wan_question_t *question)
{
    int rc;

    question->beside.run = NULL;
    rc = mca_coll_wan_links_ask(module, collective, question);
    if (NULL != question->beside.run) {
        mca_coll_wan_beside_leave(&question->beside);
    }
    return rc;
}

int mca_coll_wan_links_answer(mca_coll_wan_module_t *module, mca_coll_wan_question_t *question, int call_rc)
{
    int code, rc;

    if (NULL == question->beside.run) {
        return call_rc;
    }
    rc = mca_coll_wan_beside_end(&question->beside);
    if (OMPI_SUCCESS == rc) {
        code = wan_comm_check_answer(module->view, question->votes);
        module->changed = WAN_DONE == code;
        if (WAN_DECLINED == code) {
            module->early = wan_comm_measures(module->view);
            links_known(module, "");
        } else {
            rc = mca_coll_wan_code(code, NULL, NULL);
        }
    }
    if (OMPI_SUCCESS != rc) {
        mca_coll_wan_module_break(module, rc);
        module->trial.flags = 0;
    }
    return OMPI_SUCCESS == call_rc || (WAN_NOT_OURS == call_rc && OMPI_SUCCESS != rc) ? rc : call_rc;
}
