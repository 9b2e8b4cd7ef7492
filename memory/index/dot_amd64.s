#include "textflag.h"

// func dotsAVX2(n, vectors int, numbers *int16, rows *int8, products *int32)
//
// A step widens 32 numbers of a row to 16 bits, multiplies them with those of the query, and adds neighbouring products up to 32 bits in two
// accumulators, so that one addition does not wait for the other. Rows are asked for a page ahead: the processor's own reading ahead ends at
// the end of each.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), R8
	MOVQ vectors+8(FP), R9
	MOVQ numbers+16(FP), R10
	MOVQ rows+24(FP), DI
	MOVQ products+32(FP), DX

vector:
	MOVQ R8, CX
	MOVQ R10, SI
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1

step:
	PREFETCHT0 4096(DI)
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
	VMOVD X0, (DX)
	ADDQ $4, DX
	DECQ R9
	JNZ  vector

	VZEROUPPER
	RET
