/*
 * Counters of a process that tools read: a reader that waits for the lock of adaptive trees keeps nobody who has that lock, and
 * all modules are counted, in their order.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "coll_wan_counters.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

enum { MODULES = 4 };

mca_coll_wan_component_t mca_coll_wan_component;

/* The core: views count one message each; its counters are messages, communicators and refusals of one reason. */
static pthread_mutex_t trees_lock = PTHREAD_MUTEX_INITIALIZER;
static int counting;

void wan_comm_count(const wan_comm_t *comm, wan_counters_t *sum)
{
    (void) comm;
    __atomic_add_fetch(&counting, 1, __ATOMIC_RELEASE);
    pthread_mutex_lock(&trees_lock);
    ++sum->wan_messages;
    pthread_mutex_unlock(&trees_lock);
}

size_t wan_counter_count(void) { return 3; }

void wan_counter_get(size_t i, wan_counter_t *counter)
{
    const size_t offsets[] = { offsetof(wan_counters_t, wan_messages), offsetof(wan_counters_t, communicators),
                               offsetof(wan_counters_t, refused[WAN_REASON_ONE_SITE]) };

    memset(counter, 0, sizeof(*counter));
    counter->offset = offsets[i];
    counter->members = 1;
}

uint64_t wan_counter_value(const wan_counter_t *counter, const wan_counters_t *of)
{
    return *(const uint64_t *) ((const char *) of + counter->offset);
}

static mca_coll_wan_module_t of[MODULES];

static void module_make(mca_coll_wan_module_t *module)
{
    memset(module, 0, sizeof(*module));
    OBJ_CONSTRUCT(&module->item, opal_list_item_t);
    module->view = (wan_comm_t *) module;
    module->comm = (ompi_communicator_t *) module;
}

static unsigned long long value_of(size_t i)
{
    const mca_base_pvar_t variable = { .ctx = (void *) (uintptr_t) i };
    unsigned long long value;

    assert_int_equal(value_get(&variable, &value, NULL), OMPI_SUCCESS);
    return value;
}

static int opened(void **state)
{
    (void) state;
    memset(&kept, 0, sizeof(kept));
    memset(&met, 0, sizeof(met));
    mca_coll_wan_counters_open();
    for (int i = 0; i < MODULES; ++i) {
        module_make(&of[i]);
    }
    return 0;
}

static int closed(void **state)
{
    (void) state;
    for (int i = 0; i < MODULES; ++i) {
        mca_coll_wan_counters_remove(&of[i]);
    }
    mca_coll_wan_counters_close();
    assert_null(added);
    return 0;
}

static int seen;

static void see(const mca_coll_wan_module_t *module)
{
    assert_ptr_equal(module, &of[seen]);
    ++seen;
}

static void counts_all_in_their_order(void **state)
{
    (void) state;
    mca_coll_wan_counters_add(&of[0]);
    mca_coll_wan_counters_add(&of[1]);
    assert_int_equal(value_of(0), 2);
    mca_coll_wan_counters_add(&of[2]);
    mca_coll_wan_counters_add(&of[3]);
    seen = 0;
    mca_coll_wan_counters_each(see);
    assert_int_equal(seen, MODULES);
    /* What goes stays counted, also what nobody has read yet. */
    mca_coll_wan_counters_remove(&of[2]);
    module_make(&of[2]);
    mca_coll_wan_counters_add(&of[2]);
    mca_coll_wan_counters_remove(&of[2]);
    assert_int_equal(value_of(0), MODULES + 1);
    mca_coll_wan_counters_add(&of[2]);
}

static void *reader(void *unused)
{
    (void) value_of(0);
    return unused;
}

static void keeps_nobody_who_has_the_lock_of_trees(void **state)
{
    pthread_t other;

    (void) state;
    mca_coll_wan_counters_add(&of[0]);
    pthread_mutex_lock(&trees_lock);
    __atomic_store_n(&counting, 0, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&other, NULL, reader, NULL), 0);
    alarm(30);      /* each waits for the other */
    while (0 == __atomic_load_n(&counting, __ATOMIC_ACQUIRE)) {
        usleep(100);
    }
    for (int i = 1; i < MODULES; ++i) {
        mca_coll_wan_counters_add(&of[i]);
    }
    mca_coll_wan_counters_communicator(WAN_REASON_NONE);
    mca_coll_wan_counters_communicator(WAN_REASON_ONE_SITE);
    mca_coll_wan_counters_communicator(WAN_REASON_ONE_SITE);
    pthread_mutex_unlock(&trees_lock);
    assert_int_equal(pthread_join(other, NULL), 0);
    alarm(0);
    assert_int_equal(value_of(0), MODULES);
    assert_int_equal(value_of(1), 1);
    assert_int_equal(value_of(2), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(counts_all_in_their_order, opened, closed),
                                        cmocka_unit_test_setup_teardown(keeps_nobody_who_has_the_lock_of_trees, opened, closed) };

    return cmocka_run_group_tests_name("counters that tools read", tests, NULL, NULL);
}
