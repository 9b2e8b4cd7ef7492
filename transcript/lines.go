package transcript

import (
	"bufio"
	"errors"
	"io"
)

// lineReader reads lines of any length without keeping more of one than is wanted.
type lineReader struct{ in *bufio.Reader }

func newLineReader(r io.Reader, buffer int) lineReader {
	return lineReader{bufio.NewReaderSize(r, buffer)}
}

// next gives a line, nil for one of more than most bytes; n is its length with its end, whole tells that it has one.
func (r lineReader) next(most int) (line []byte, n int64, whole bool, err error) {
	kept := make([]byte, 0, 1024)
	for {
		part, err := r.in.ReadSlice('\n')
		n += int64(len(part))
		if kept != nil {
			if kept = append(kept, part...); len(kept) > most {
				kept = nil
			}
		}
		switch {
		case err == nil:
			return kept, n, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return kept, n, false, err
		}
	}
}
