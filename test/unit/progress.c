/*
 * What progresses by itself (coll_wan_progress.c), called from a stand-in for Open MPI's progress: when sockets are read before times are taken, and
 * when that is known.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int64_t clock_ns;
static int passes;              /* of Open MPI's progress */
static int tcp_has_thread;
static int (*registered_call)(void);

static int64_t clock_now(void *context)
{
    (void) context;
    return clock_ns += 1000;
}

const wan_port_t mca_coll_wan_port_pml = { .now_ns = clock_now };

static void stand_in_progress(void)
{
    ++passes;
    if (NULL != registered_call) {
        (void) registered_call();
    }
}

static int stand_in_register(int (*call)(void))
{
    registered_call = call;
    return OPAL_SUCCESS;
}

static int stand_in_unregister(int (*call)(void))
{
    (void) call;
    registered_call = NULL;
    return OPAL_SUCCESS;
}

static int stand_in_find(const char *project, const char *framework, const char *component, const char *name)
{
    assert_string_equal(project, "opal");
    assert_string_equal(framework, "btl");
    assert_string_equal(component, "tcp");
    assert_string_equal(name, "progress_thread");
    return 7;
}

static int stand_in_value(int index, const int **value)
{
    assert_int_equal(index, 7);
    *value = &tcp_has_thread;
    return OPAL_SUCCESS;
}

#define opal_progress stand_in_progress
#define opal_progress_register stand_in_register
#define opal_progress_unregister stand_in_unregister
#define opal_progress_set_yield_when_idle(yields) (yields)
#define mca_base_var_find stand_in_find
#define mca_base_var_get_value(index, value, source, file) stand_in_value(index, value)
#include "coll_wan_progress.c"

#define MS 1000000

static int64_t known_ns;        /* of the last step after a pause */
static int passes_before;       /* of Open MPI's, in the same call */
static int steps_left;

static wan_step_t takes_times(wan_item_t *item)
{
    (void) item;
    if (0 != mca_coll_wan_progress_read()) {
        known_ns = mca_coll_wan_progress_read();
        passes_before = passes;
    }
    return WAN_STEP_IDLE;
}

static wan_step_t is_a_call(wan_item_t *item)
{
    (void) item;
    return 0 < --steps_left ? WAN_STEP_IDLE : WAN_STEP_OVER;
}

static wan_item_t times = { .step = takes_times, .prompt = true }, call = { .step = is_a_call, .call = true };

/* Somebody takes times from now on. */
static int begin(void **state)
{
    (void) state;
    mca_coll_wan_progress_close();
    added = under_way = NULL;
    calls = prompt = 0;
    last_ns = passed_ns = turned_ns = read_ns = 0;
    last_thread = NULL;
    read_elsewhere = false;
    tcp_has_thread = 0;
    ompi_mpi_thread_multiple = false;
    clock_ns = 5000 * (int64_t) MS;
    mca_coll_wan_progress_add(&times);
    stand_in_progress();
    return 0;
}

/* The program computes, then calls MPI for a while; whether sockets were known to have been read. */
static bool reads_after(int64_t pause_ns)
{
    clock_ns += pause_ns;
    known_ns = 0;
    passes = 0;
    for (int pass = 0; pass < 5; ++pass) {
        stand_in_progress();
    }
    if (0 != known_ns) {
        assert_true(1 + PASSES_A_READ == passes_before);    /* before the step */
        assert_true(5 + PASSES_A_READ == passes);           /* once in a pause */
    }
    return 0 != known_ns;
}

static void after_a_pause(void **state)
{
    (void) state;
    for (int round = 0; round < 5; ++round) {
        assert_true(reads_after(10 * MS));
        assert_false(reads_after(PAUSE_NS / 2));
    }
}

static void beside_calls_of_the_program(void **state)
{
    (void) state;
    for (int round = 0; round < 5; ++round) {
        clock_ns += 10 * MS;
        steps_left = 3;
        mca_coll_wan_progress_add(&call);       /* MPI_Start: no pass of progress */
        assert_true(reads_after(0));
        assert_int_equal(steps_left, 0);
    }
}

static void *reads_here(void *as_expected)
{
    *(bool *) as_expected = reads_after(10 * MS) == *(bool *) as_expected;
    return NULL;
}

static bool reads_elsewhere(bool expected)
{
    pthread_t thread;

    assert_int_equal(0, pthread_create(&thread, NULL, reads_here, &expected));
    pthread_join(thread, NULL);
    return expected;
}

static void threads_by_turns(void **state)
{
    (void) state;
    for (int round = 0; round < 5; ++round) {
        assert_true(reads_elsewhere(true));
        assert_true(reads_after(10 * MS));
    }
}

static void threads_at_once(void **state)
{
    (void) state;
    ompi_mpi_thread_multiple = true;
    assert_true(reads_after(10 * MS));          /* one so far */
    assert_true(reads_elsewhere(false));
    assert_false(reads_after(10 * MS));
    for (int round = 0; round < 98; ++round) {  /* the other may be reading for a second */
        assert_false(reads_after(10 * MS));
    }
    assert_true(reads_after(30 * MS));
    assert_true(reads_after(10 * MS));
    assert_true(reads_elsewhere(false));        /* it is back */
    assert_false(reads_after(10 * MS));
}

static void thread_of_tcp(void **state)
{
    (void) state;
    mca_coll_wan_progress_close();
    added = under_way = NULL;
    tcp_has_thread = 1;
    mca_coll_wan_progress_add(&times);
    for (int round = 0; round < 5; ++round) {
        assert_false(reads_after(2000 * (int64_t) MS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(after_a_pause, begin),    cmocka_unit_test_setup(beside_calls_of_the_program, begin),
        cmocka_unit_test_setup(threads_by_turns, begin), cmocka_unit_test_setup(threads_at_once, begin),
        cmocka_unit_test_setup(thread_of_tcp, begin),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
