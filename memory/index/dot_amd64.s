#include "textflag.h"

// func dotsAVX2(blocks, vectors int, numbers *int8, halves *uint8, products *int32)
//
// A step takes 32 bytes apart into 64 halves, multiplies them with numbers, and adds neighbouring products in 16 bits. A sum of two
// products is at most 2 × 15 × 128 = 3,840, so eight of them fit; then they are added up in 32 bits.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ blocks+0(FP), R8
	MOVQ vectors+8(FP), R9
	MOVQ numbers+16(FP), R10
	MOVQ halves+24(FP), DI
	MOVQ products+32(FP), DX
	VPCMPEQW Y15, Y15, Y15
	VPSRLW $15, Y15, Y14 // ones
	VPSRLW $12, Y15, Y15
	VPSLLW $8, Y15, Y13
	VPOR Y13, Y15, Y15 // the lower half of each byte

vector:
	MOVQ R8, CX
	MOVQ R10, SI
	VPXOR Y0, Y0, Y0

group:
	MOVQ $8, BX
	CMPQ CX, BX
	CMOVQLT CX, BX
	SUBQ BX, CX
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5

step:
	PREFETCHT0 4096(DI)
	VMOVDQU (DI), Y2
	VPAND Y15, Y2, Y3
	VPSRLW $4, Y2, Y2
	VPAND Y15, Y2, Y2
	VPMADDUBSW (SI), Y3, Y3
	VPMADDUBSW 32(SI), Y2, Y2
	VPADDW Y3, Y4, Y4
	VPADDW Y2, Y5, Y5
	ADDQ $32, DI
	ADDQ $64, SI
	DECQ BX
	JNZ  step

	VPMADDWD Y14, Y4, Y4
	VPMADDWD Y14, Y5, Y5
	VPADDD Y4, Y0, Y0
	VPADDD Y5, Y0, Y0
	TESTQ CX, CX
	JNZ  group

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
