import { finalize, murmur3 } from '../../../src/domain/random/murmur3';

// Public test vectors of MurmurHash3_x86_32, spelled as little-endian pairs of bytes: '\u4321\u8765' is 21 43 65 87.
test.each([
  { text: '', seed: 0, expected: 0 },
  { text: '', seed: 1, expected: 0x514e28b7 },
  { text: '', seed: 0xffffffff, expected: 0x81f16f39 },
  { text: '\u4321\u8765', seed: 0, expected: 0xf55b516b },
  { text: '\u4321\u8765', seed: 0x5082edee, expected: 0x2362f9de },
  { text: '\u4321', seed: 0, expected: 0xa0f7b07a },
  { text: '\u0000\u0000', seed: 0, expected: 0x2362f9de },
  { text: '\u0000', seed: 0, expected: 0x30f4c306 },
  { text: '\uffff\uffff', seed: 0, expected: 0x76293b50 },
])('the hash of $text with seed $seed is the published $expected', ({ text, seed, expected }) => {
  expect(murmur3(text, seed)).toBe(expected);
});

test('the finaliser spreads neighbouring integers over different halves of its range', () => {
  const high = Array.from({ length: 1000 }, (_, i) => finalize(i + 1)).filter((hash) => hash >= 2 ** 31).length;

  expect(high).toBeGreaterThan(450);
  expect(high).toBeLessThan(550);
});
