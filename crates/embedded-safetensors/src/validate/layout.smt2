; The layout rule, for z3: each theorem is `unsat`, because its negation is asserted.
;
; Numbers are integers without a size, so a sum or a product is exact. That they are numbers of 64 bits is an
; assumption (`u64`), and that results are is part of what is proved.

(define-fun max () Int 18446744073709551615)
(define-fun u64 ((x Int)) Bool (and (<= 0 x) (<= x max)))

; The code, function by function. A test compares them with it: `order::proof`.

; tensor::info::is_consistent
(define-fun consistent ((elements Int) (bits Int) (begin Int) (end Int)) Bool
  (and (<= (* elements bits) max)
       (= (mod (* elements bits) 8) 0)
       (<= (+ begin (div (* elements bits) 8)) max)
       (= (+ begin (div (* elements bits) 8)) end)))

; order::sort_key, of the range b1..e1 and the range b2..e2
(define-fun below ((b1 Int) (e1 Int) (b2 Int) (e2 Int)) Bool
  (or (< b1 b2) (and (= b1 b2) (< e1 e2))))

; order::InOrder::see, with the range b..e: where it says that there is a misfit, and its other fields.
; Sorting::append is the same while there is none. That each tensor reaches it once and in order, with any
; number of slots, is not proved: `tests/layout.rs` compares all small layouts with a sorted list.
(define-fun see_found ((end Int) (found Bool) (b Int)) Bool (or found (not (= b end))))
(define-fun see_end ((end Int) (found Bool) (b Int) (e Int)) Int (ite (see_found end found b) end e))
(define-fun see_misfit
  ((end Int) (misfit Int) (found Bool) (last_b Int) (last_e Int) (b Int) (e Int)) Int
  (ite (not (see_found end found b)) misfit
    (ite (below b e last_b last_e) end
      (ite found misfit b))))
(define-fun needs_sorting ((end Int) (misfit Int) (found Bool)) Bool (and found (= misfit end)))

; validate::Summary::fills
(define-fun fills ((file_len Int) (data_start Int) (data_len Int)) Bool
  (and (<= data_start file_len) (= (- file_len data_start) data_len)))

(echo "a consistent tensor: its range is exactly its bytes, and nothing wraps")
(push)
(declare-const elements Int) (declare-const bits Int) (declare-const begin Int) (declare-const end Int)
(assert (and (u64 elements) (u64 begin) (u64 end)))
(assert (or (= bits 4) (= bits 6) (= bits 8) (= bits 16) (= bits 32) (= bits 64)))
(assert (consistent elements bits begin end))
(assert (not (and (<= begin end) (= (* 8 (- end begin)) (* elements bits)))))
(check-sat)
(pop)

; After some tensors of a header: `chain` says that each began where the one before it ended, the first at 0;
; `sorted` that each was not below the one before it; `count` how many of them have the byte x.
(define-fun invariant
  ((end Int) (misfit Int) (found Bool) (last_b Int) (last_e Int) (chain Bool) (sorted Bool) (x Int) (count Int))
  Bool
  (and (u64 end)
       (= found (not chain))
       (=> chain (and sorted (= last_e end) (<= last_b last_e)))
       (=> chain (= count (ite (and (<= 0 x) (< x end)) 1 0)))
       (=> (not chain) (= sorted (not (needs_sorting end misfit found))))))

(echo "the invariant holds before the first tensor")
(push)
(declare-const x Int)
(assert (not (invariant 0 0 false 0 0 true true x 0)))
(check-sat)
(pop)

(echo "each tensor keeps the invariant: a contiguous layout covers every byte exactly once")
(push)
(declare-const end Int) (declare-const misfit Int) (declare-const found Bool)
(declare-const last_b Int) (declare-const last_e Int) (declare-const chain Bool) (declare-const sorted Bool)
(declare-const x Int) (declare-const count Int) (declare-const b Int) (declare-const e Int)
(assert (invariant end misfit found last_b last_e chain sorted x count))
(assert (and (u64 b) (u64 e) (<= b e)))
(assert (not (invariant
  (see_end end found b e) (see_misfit end misfit found last_b last_e b e) (see_found end found b) b e
  (and chain (= b last_e)) (and sorted (not (below b e last_b last_e)))
  x (+ count (ite (and (<= b x) (< x e)) 1 0)))))
(check-sat)
(pop)

(echo "a misfit in sorted tensors: a byte in none or in two of them, or an empty tensor inside others")
(push)
(declare-const end Int) (declare-const b Int) (declare-const e Int)
(declare-const later_b Int) (declare-const later_e Int)
(assert (and (u64 end) (u64 b) (u64 e) (<= b e) (not (= b end)) (not (below later_b later_e b e))))
(define-fun has ((from Int) (to Int) (byte Int)) Bool (and (<= from byte) (< byte to)))
(assert (not (or (and (not (has b e end)) (not (has later_b later_e end)) (not (has 0 end end)))
                 (and (has 0 end b) (or (has b e b) (= b e))))))
(check-sat)
(pop)

(echo "the length of the file: header and data are exactly the file")
(push)
(declare-const file_len Int) (declare-const data_start Int) (declare-const data_len Int)
(assert (and (u64 file_len) (u64 data_start) (u64 data_len)))
(assert (not (= (fills file_len data_start data_len) (= (+ data_start data_len) file_len))))
(check-sat)
(pop)
