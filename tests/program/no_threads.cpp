// A pthread_create that ends the process, for the check one_thread. Libraries of the program may start threads while
// they are loaded, for example the one below Open MPI 5. This library, named in LD_PRELOAD, is initialized after them.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>

namespace {

bool loaded = false;

__attribute__((constructor)) void note_loaded() {
  loaded = true;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) {
  if (!loaded) {
    const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, attributes, run, argument);
  }
  const char* text = "a thread is started\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  _exit(3);
}
