// The sanitizers end a program that asks for more memory than there can be; the tests want to see what we make of it.
#if defined(__SANITIZE_ADDRESS__)
// Eight callers of an allocation tell whose it is; those of all thirty take a tenth of the time of the tests.
extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:malloc_context_size=8";
}
// The C library loses the list of folders that it makes of the variable LOCPATH.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__argz_add_sep";
}
#elif defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
  return "allocator_may_return_null=1";
}
#endif
