"use strict";
// Data of a script element: JSON, deflated, in base64 (see render.py).

async function unpacked(holder) {
  const packed = Uint8Array.from(atob(holder.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}
