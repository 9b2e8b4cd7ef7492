#include "textflag.h"

// func dotAVX2(n int, a *int16, b *int8) int32
//
// A step widens 32 numbers of b to 16 bits, multiplies them with those of a, and adds neighbouring products up to 32 bits in two
// accumulators, so that one addition does not wait for the other.
TEXT ·dotAVX2(SB), NOSPLIT, $0-28
	MOVQ n+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DI
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

step:
	VPMOVSXBW (DI), Y2
	VPMOVSXBW 16(DI), Y3
	VPMADDWD (SI), Y2, Y2
	VPMADDWD 32(SI), Y3, Y3
	VPADDD Y2, Y0, Y0
	VPADDD Y3, Y1, Y1
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $32, CX
	JNZ  step

	VPADDD Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0x4E, X0, X1
	VPADDD X1, X0, X0
	VPSHUFD $0xB1, X0, X1
	VPADDD X1, X0, X0
	VMOVD X0, AX
	MOVL AX, ret+24(FP)
	VZEROUPPER
	RET
