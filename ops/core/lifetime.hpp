#pragma once

// TROUPE_LIFETIMEBOUND marks a member function whose result refers to memory that the object keeps alive. The compiler
// warns if the result outlives a temporary object. The macro is empty for compilers without the attribute.
#if defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define TROUPE_LIFETIMEBOUND [[clang::lifetimebound]]
#endif
#endif
#ifndef TROUPE_LIFETIMEBOUND
#define TROUPE_LIFETIMEBOUND
#endif
