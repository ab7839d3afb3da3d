/* SPDX-License-Identifier: Apache-2.0
 *
 * Collections by the C ABI: who writes, which versions stay, sleeping and
 * waking, adopted arrays, and watches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/holdfast.h"
#include "tests/client/c/expect.h"

static hf_daemon* g_daemon;
static hf_session* g_session;
static hf_stream* g_stream;

/* An array of one number. */
static hf_array One(const char* name) {
  static const uint64_t kOne = 1;
  const hf_array array = {name, "I32", &kOne, 1, 0};
  return array;
}

static void Fill(hf_collection_writer* writer, size_t index, int value) {
  hf_buffer* part;
  OK(hf_collection_writer_array(writer, index, &part));
  OK(hf_buffer_upload(part, 0, &value, sizeof value, g_stream));
  hf_buffer_free(part);
}

static uint64_t Commit(hf_collection_writer* writer, const char* name) {
  uint64_t version = 0;
  OK(hf_collection_writer_commit(writer, name, NULL, 0, &version));
  hf_collection_writer_free(writer);
  return version;
}

/* A version of one array, "x", with one number. */
static uint64_t CommitOne(const char* name, int value) {
  const hf_array array = One("x");
  hf_collection_writer* writer;
  OK(hf_collection_writer_create(g_session, 0, &array, 1, &writer));
  Fill(writer, 0, value);
  return Commit(writer, name);
}

static int Read(hf_collection* collection, const char* array) {
  int value = -1;
  hf_buffer* part;
  OK(hf_collection_array(collection, array, &part));
  OK(hf_buffer_download(part, 0, &value, sizeof value, g_stream));
  hf_buffer_free(part);
  return value;
}

/* The number in "x" of a version; 0: the latest. */
static int Value(const char* name, uint64_t version) {
  hf_collection* collection;
  OK(hf_collection_open(g_session, 0, name, version, &collection));
  const int value = Read(collection, "x");
  hf_collection_free(collection);
  return value;
}

static void Configure(const char* name, const char* members) {
  char json[200];
  snprintf(json, sizeof json, "{\"name\": \"%s\", %s}", name, members);
  OK(hf_collections_configure(g_daemon, json));
}

static void Delete(const char* name) {
  uint32_t deleted = 0;
  OK(hf_collections_delete(g_daemon, name, 0, &deleted));
}

static void APinnedVersionStays(void) {
  hf_collection* none;
  uint32_t deleted = 0;
  EXPECT(CommitOne("pins", 1) == 1);
  Configure("pins", "\"pin\": [\"1\"]");
  CommitOne("pins", 2);
  CommitOne("pins", 3);
  EXPECT(Value("pins", 1) == 1 && Value("pins", 3) == 3);
  FAILS(hf_collection_open(g_session, 0, "pins", 2, &none), HF_NOT_FOUND,
        "no version 2");
  FAILS(hf_collections_delete(g_daemon, "pins", 1, &deleted),
        HF_FAILED_PRECONDITION, "pinned");
  FAILS(hf_collections_configure(g_daemon,
                                 "{\"name\": \"pins\", \"pin\": [\"2\"]}"),
        HF_NOT_FOUND, "no version 2");
  Configure("pins", "\"unpin\": [\"1\"]");
  FAILS(hf_collection_open(g_session, 0, "pins", 1, &none), HF_NOT_FOUND,
        "no version 1");
  Delete("pins");
}

static void SoManyVersionsAreKept(void) {
  hf_collection* none;
  CommitOne("kept", 1);
  Configure("kept", "\"keep\": 2");
  CommitOne("kept", 2);
  CommitOne("kept", 3);
  EXPECT(Value("kept", 2) == 2 && Value("kept", 0) == 3);
  FAILS(hf_collection_open(g_session, 0, "kept", 1, &none), HF_NOT_FOUND,
        "no version 1");
  Delete("kept");
}

/* A watch tells when it has gone, so that nothing has to be waited for. */
static void AVersionGoesWithItsLastReader(void) {
  hf_collection *first, *second;
  hf_watch* watch;
  hf_change change;
  const char* name;
  uint64_t version = 0;
  CommitOne("read", 1);
  Configure("read", "\"until_unreferenced\": true");
  OK(hf_watch_start(g_daemon, "read", &watch));
  OK(hf_watch_next(watch, &change, &name, &version));
  EXPECT(change == HF_PRESENT && version == 1);
  EXPECT(strlen(hf_watch_owner(watch)) > 0);
  OK(hf_collection_open(g_session, 0, "read", 0, &first));
  OK(hf_collection_open(g_session, 0, "read", 0, &second));
  hf_collection_free(first);
  EXPECT(Read(second, "x") == 1);
  /* One that sleeps is no reader. */
  OK(hf_collection_sleep(second));
  OK(hf_watch_next(watch, &change, &name, &version));
  EXPECT(change == HF_RETIRED && strcmp(name, "read") == 0 && version == 1);
  hf_watch_free(watch);
  hf_collection_free(second);
  FAILS(hf_collection_open(g_session, 0, "read", 0, &first), HF_NOT_FOUND,
        "read");
}

static void ASleeperWakesWithTheVersionThatItNames(void) {
  hf_collection* opened;
  hf_buffer* part;
  size_t moved = 9;
  int value = 0;
  CommitOne("sleep", 1);
  Configure("sleep", "\"keep\": 0");
  CommitOne("sleep", 2);
  OK(hf_collection_open(g_session, 0, "sleep", 1, &opened));
  OK(hf_collection_array(opened, "x", &part));
  OK(hf_collection_sleep(opened));
  FAILS(hf_buffer_download(part, 0, &value, sizeof value, g_stream),
        HF_FAILED_PRECONDITION, "sleeps");
  OK(hf_collection_wake(opened, HF_SAME_VERSION, &moved));
  EXPECT(moved == 0 && hf_collection_version(opened) == 1);
  OK(hf_buffer_download(part, 0, &value, sizeof value, g_stream));
  EXPECT(value == 1);
  OK(hf_collection_sleep(opened));
  OK(hf_collection_wake(opened, 0, &moved));
  EXPECT(moved == 0 && hf_collection_version(opened) == 2);
  OK(hf_buffer_download(part, 0, &value, sizeof value, g_stream));
  EXPECT(value == 2);
  OK(hf_collection_sleep(opened));
  FAILS(hf_collection_wake(opened, 7, &moved), HF_NOT_FOUND, "no version 7");
  OK(hf_collection_wake(opened, 1, &moved));
  EXPECT(hf_collection_version(opened) == 1);
  hf_buffer_free(part);
  hf_collection_free(opened);
  Delete("sleep");
}

static void ArraysThatAreNotThereAnyMoreHaveMoved(void) {
  hf_collection* opened;
  size_t moved = 0;
  const hf_array other = One("y");
  hf_collection_writer* writer;
  CommitOne("moved", 1);
  OK(hf_collection_open(g_session, 0, "moved", 0, &opened));
  OK(hf_collection_sleep(opened));
  OK(hf_collection_writer_create(g_session, 0, &other, 1, &writer));
  Fill(writer, 0, 5);
  Commit(writer, "moved");
  OK(hf_collection_wake(opened, 0, &moved));
  EXPECT(moved >= 1);
  int found = 0;
  for (size_t i = 0; i < moved; ++i) {
    found += strcmp(hf_collection_moved_at(opened, i), "x") == 0;
  }
  EXPECT(found == 1 && Read(opened, "y") == 5);
  hf_collection_free(opened);
  Delete("moved");
}

static void AnAdoptedArrayOutlivesItsVersion(void) {
  const hf_array more = One("more");
  hf_collection* opened;
  hf_collection_writer* writer;
  CommitOne("adopts", 4);
  OK(hf_collection_open(g_session, 0, "adopts", 0, &opened));
  OK(hf_collection_writer_create(g_session, 0, &more, 1, &writer));
  Fill(writer, 0, 6);
  OK(hf_collection_writer_adopt(writer, opened, "x"));
  FAILS(hf_collection_writer_adopt(writer, opened, "none"), HF_NOT_FOUND,
        "none");
  EXPECT(Commit(writer, "adopts") == 2);
  hf_collection_free(opened);
  OK(hf_collection_open(g_session, 0, "adopts", 2, &opened));
  EXPECT(hf_collection_array_count(opened) == 2);
  EXPECT(Read(opened, "x") == 4 && Read(opened, "more") == 6);
  hf_collection_free(opened);
  Delete("adopts");
}

static void AClaimPassesToTheNextAndEndsWithAVersion(void) {
  hf_write_claim* claim;
  hf_session* other;
  OK(hf_session_open(g_daemon, NULL, &other));
  OK(hf_write_claim_wait(other, "claimed", &claim));
  EXPECT(hf_write_claim_writes(claim));
  hf_write_claim_free(claim);
  OK(hf_write_claim_wait(other, "claimed", &claim));
  EXPECT(hf_write_claim_writes(claim));
  hf_session_free(other); /* which ends the claim */
  hf_write_claim_free(claim);
  OK(hf_write_claim_wait(g_session, "claimed", &claim));
  EXPECT(hf_write_claim_writes(claim));
  CommitOne("claimed", 1);
  hf_write_claim_free(claim);
  OK(hf_write_claim_wait(g_session, "claimed", &claim));
  EXPECT(!hf_write_claim_writes(claim));
  hf_write_claim_free(claim);
  Delete("claimed");
}

static void AWatchOfAllTellsWhatHappens(void) {
  static const hf_change kChanges[] = {HF_PRESENT, HF_COMMITTED, HF_RETIRED,
                                       HF_DELETED};
  static const uint64_t kVersions[] = {1, 2, 1, 2};
  hf_watch* watch;
  hf_text* json;
  CommitOne("watched", 1);
  OK(hf_watch_start(g_daemon, NULL, &watch));
  for (int i = 0; i < 4; ++i) {
    hf_change change;
    const char* name;
    uint64_t version = 0;
    OK(hf_watch_next(watch, &change, &name, &version));
    EXPECT(change == kChanges[i] && version == kVersions[i]);
    EXPECT(strcmp(name, "watched") == 0);
    if (i == 0) CommitOne("watched", 2);
    if (i == 2) Delete("watched");
  }
  hf_watch_free(watch);
  OK(hf_collections_list(g_daemon, &json));
  EXPECT(strstr(hf_text_data(json), "watched") == NULL);
  hf_text_free(json);
}

int main(void) {
  OK(hf_daemon_connect("embedded:device=cpu", &g_daemon));
  OK(hf_session_open(g_daemon, NULL, &g_session));
  OK(hf_stream_create(g_session, 0, NULL, &g_stream));
  APinnedVersionStays();
  SoManyVersionsAreKept();
  AVersionGoesWithItsLastReader();
  ASleeperWakesWithTheVersionThatItNames();
  ArraysThatAreNotThereAnyMoreHaveMoved();
  AnAdoptedArrayOutlivesItsVersion();
  AClaimPassesToTheNextAndEndsWithAVersion();
  AWatchOfAllTellsWhatHappens();
  hf_stream_free(g_stream);
  hf_session_free(g_session);
  hf_daemon_free(g_daemon);
  printf("%d expectations failed\n", failures);
  return failures != 0;
}
