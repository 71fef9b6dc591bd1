.intel_syntax noprefix
.text
fill: # buf, var, first, items
  mov r8, [rdi]
  mov r9, [rdi+8]
  mov r10, [rdi+16]
  mov r11, [rdi+24]
  test r11, r11
  jle 2f
1: mov rax, r9
  add rax, r10
  mov [r8+r10*8], rax
  inc r10
  dec r11
  jnz 1b
2: ret
  .align 16
spin: # buf, turns, first, items: each item turns, then counts
  mov r8, [rdi]
  mov r10, [rdi+16]
  mov r11, [rdi+24]
1: mov rcx, [rdi+8]
2: dec rcx
  jnz 2b
  lock inc qword ptr [r8+r10*8]
  inc r10
  dec r11
  jnz 1b
  ret
  .align 16
own: # buf, turns, first, items, scratch: frame and scratch keep the item while it turns
  mov r8, [rdi]
  mov r9, [rdi+32]
  mov r10, [rdi+16]
  mov r11, [rdi+24]
1: mov [rsi+56], r10
  mov [r9+4088], r10
  mov rcx, [rdi+8]
2: dec rcx
  jnz 2b
  mov rax, [rsi+56]
  add rax, [r9+4088]
  mov [r8+r10*8], rax
  inc r10
  dec r11
  jnz 1b
  ret
  .align 16
segv: # reads at the address in its variable
  mov rax, [rdi+8]
  mov eax, [rax]
  ret
  .align 16
ill:
  nop
  ud2
  .align 16
fpe:
  xor ecx, ecx
  mov eax, 1
  cdq
  idiv ecx
  ret
