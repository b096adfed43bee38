/** What is taken along from the page: files that the browser saves, and pictures in the clipboard. */

/** Saves a text, or what else there is, as a file of the browser's. */
export function saveFile(name: string, type: string, content: string | Blob): void {
  const address = URL.createObjectURL(new Blob([content], { type }))
  const anchor = document.createElement('a')
  anchor.href = address
  anchor.download = name
  anchor.click()
  URL.revokeObjectURL(address)
}

/** A picture is as sharp as on a screen with two dots per px. */
const sharpness = 2
/** Browsers draw no larger canvas than this, in px of a side and of the area. */
const [sideMax, areaMax] = [16_000, 100_000_000]

/** An SVG document as a PNG. It must have its styles and its ground in itself. */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const { naturalWidth: width, naturalHeight: height } = image
  const scale = Math.min(sharpness, sideMax / Math.max(width, height), Math.sqrt(areaMax / (width * height)))
  const canvas = document.createElement('canvas')
  canvas.width = Math.floor(width * scale)
  canvas.height = Math.floor(height * scale)
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
  if (blob === null) throw new Error('The browser could not draw the picture: save it as SVG.')
  return blob
}

/** Copies an SVG document as a PNG, or as text where the browser takes only text. @returns what was copied */
export async function copyPicture(svg: string): Promise<'picture' | 'text'> {
  if (!('clipboard' in navigator)) throw new Error('Browsers copy only from pages by HTTPS, or of this computer.')
  if (!('ClipboardItem' in globalThis)) {
    await navigator.clipboard.writeText(svg)
    return 'text'
  }
  // Given the promise, not what it gives: Safari copies nothing once a click is over.
  await navigator.clipboard.write([new ClipboardItem({ 'image/png': pngOf(svg) })])
  return 'picture'
}
