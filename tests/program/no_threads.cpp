// Takes the place of pthread_create, for the check one_thread.
#include <pthread.h>
#include <unistd.h>

#include <cstring>

extern "C" int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) {
  const char* text = "a thread is started\n";
  (void)!write(STDERR_FILENO, text, std::strlen(text));
  _exit(3);
}
