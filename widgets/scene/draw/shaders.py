"""The shaders, in GLSL 1.20 so that any desktop driver since OpenGL 2.1 runs them.

World coordinates here are relative to the scene's origin; colours of bodies arrive as
light intensities and leave as sRGB.
"""

ACTORS_A_LINE = 64  # actors in one line of the texture, four texels each

_ACTOR = f"""
uniform sampler2D u_actors;
uniform float u_lines;
uniform float u_first;  // where this copy of the actors begins
attribute float a_actor;
vec4 actor_texel(float which) {{
    float actor = a_actor + u_first;
    float line = floor((actor + 0.5) / {ACTORS_A_LINE}.0);
    float column = (actor - line * {ACTORS_A_LINE}.0) * 4.0 + which;
    vec2 at = vec2((column + 0.5) / {4 * ACTORS_A_LINE}.0, (line + 0.5) / u_lines);
    return texture2D(u_actors, at);
}}
vec3 actor_place(vec3 local) {{
    vec4 p = vec4(local, 1.0);
    return vec3(dot(actor_texel(0.0), p), dot(actor_texel(1.0), p),
                dot(actor_texel(2.0), p));
}}
vec3 actor_turn(vec3 local) {{
    return vec3(dot(actor_texel(0.0).xyz, local), dot(actor_texel(1.0).xyz, local),
                dot(actor_texel(2.0).xyz, local));
}}
"""

# Outside of the clip volume with all corners: the triangle isn't drawn.
_NOWHERE = "gl_Position = vec4(2.0, 2.0, 2.0, 1.0);"

BODY_VERTEX = (
    _ACTOR
    + """
uniform mat4 u_clip;
uniform float u_translucent;
attribute vec3 a_position;
attribute vec3 a_normal;
attribute float a_corner;
varying vec3 v_world;
varying vec3 v_normal;
varying vec4 v_colour;
varying vec3 v_edges;
void main() {
    v_colour = actor_texel(3.0);
    v_world = actor_place(a_position);
    v_normal = actor_turn(a_normal);
    v_edges = vec3(a_corner == 0.0, a_corner == 1.0, a_corner == 2.0);
    bool translucent = v_colour.a < 0.999;
    if (v_colour.a <= 0.0 || translucent != (u_translucent > 0.5)) {
        """
    + _NOWHERE
    + """
    } else {
        gl_Position = u_clip * vec4(v_world, 1.0);
    }
}
"""
)

BODY_FRAGMENT = """
uniform vec3 u_eye;
uniform vec3 u_up;
uniform vec3 u_key;
uniform vec3 u_sky;
uniform vec3 u_bounce;
uniform float u_key_power;
uniform float u_wire;
varying vec3 v_world;
varying vec3 v_normal;
varying vec4 v_colour;
varying vec3 v_edges;
void main() {
    float coverage = v_colour.a;
    if (u_wire > 0.5) {
        vec3 width = fwidth(v_edges);
        vec3 near = smoothstep(width * 0.4, width * 1.4, v_edges);
        float line = 1.0 - min(min(near.x, near.y), near.z);
        if (line < 0.05) discard;
        coverage *= line;
    }
    vec3 to_eye = normalize(u_eye - v_world);
    vec3 normal = normalize(v_normal);
    // Both sides of a face are lit alike: not every file winds its triangles one way.
    if (dot(normal, to_eye) < 0.0) normal = -normal;
    float facing = dot(normal, to_eye);
    float key = max((dot(normal, u_key) + 0.15) / 1.15, 0.0);
    vec3 light = mix(u_bounce, u_sky, 0.5 + 0.5 * dot(normal, u_up));
    light += vec3(u_key_power * key) + vec3(0.14 * facing);
    vec3 shade = v_colour.rgb * light;
    vec3 middle = normalize(u_key + to_eye);
    shade += vec3(0.05 * pow(max(dot(normal, middle), 0.0), 40.0));
    shade += u_sky * (0.10 * pow(1.0 - facing, 4.0));
    if (u_wire > 0.5) shade = v_colour.rgb * 0.9 + 0.06;
    gl_FragColor = vec4(pow(min(shade, vec3(1.0)), vec3(1.0 / 2.2)), coverage);
}
"""

# A body in one flat colour, moved sideways in the picture: what outlines are made of.
FLAT_VERTEX = (
    _ACTOR
    + """
uniform mat4 u_clip;
uniform vec2 u_shift;
attribute vec3 a_position;
void main() {
    if (actor_texel(3.0).a <= 0.0) {
        """
    + _NOWHERE
    + """
    } else {
        gl_Position = u_clip * vec4(actor_place(a_position), 1.0);
        gl_Position.xy += u_shift * gl_Position.w;
    }
}
"""
)

FLAT_FRAGMENT = """
uniform vec4 u_colour;
void main() { gl_FragColor = u_colour; }
"""

# A body flattened onto the ground along the light.
SHADOW_VERTEX = (
    _ACTOR
    + """
uniform mat4 u_clip;
uniform vec3 u_up;
uniform vec3 u_key;
uniform float u_ground;
attribute vec3 a_position;
varying float v_height;
void main() {
    vec3 at = actor_place(a_position);
    v_height = max(dot(at, u_up) - u_ground, 0.0);
    if (actor_texel(3.0).a < 0.999) {
        """
    + _NOWHERE
    + """
    } else {
        float below = dot(at, u_up) - u_ground;
        vec3 flat_ = at - u_up * below - (u_key / dot(u_key, u_up) - u_up) * v_height;
        gl_Position = u_clip * vec4(flat_, 1.0);
    }
}
"""
)

SHADOW_FRAGMENT = """
uniform vec4 u_colour;
uniform float u_reach;
varying float v_height;
void main() {
    gl_FragColor = vec4(u_colour.rgb, u_colour.a / (1.0 + 2.0 * v_height / u_reach));
}
"""

BACKDROP_VERTEX = """
attribute vec2 a_corner;
varying vec2 v_at;
void main() {
    v_at = a_corner;
    gl_Position = vec4(a_corner, 0.0, 1.0);
}
"""

# The noise of half a step keeps a slow gradient from showing bands.
BACKDROP_FRAGMENT = """
uniform vec3 u_top;
uniform vec3 u_bottom;
varying vec2 v_at;
void main() {
    float noise = fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453);
    float part = smoothstep(-1.0, 1.0, v_at.y);
    gl_FragColor = vec4(mix(u_bottom, u_top, part) + (noise - 0.5) / 255.0, 1.0);
}
"""

GROUND_VERTEX = """
uniform mat4 u_clip;
uniform vec3 u_centre;
uniform vec3 u_right;
uniform vec3 u_ahead;
uniform float u_reach;
attribute vec2 a_corner;
varying vec2 v_plane;
varying vec2 v_local;
void main() {
    vec3 at = u_centre + u_reach * (a_corner.x * u_right + a_corner.y * u_ahead);
    v_plane = vec2(dot(at, u_right), dot(at, u_ahead));
    v_local = a_corner;
    gl_Position = u_clip * vec4(at, 1.0);
}
"""

# Lines of three spacings, each ten times the one before. The nearer the camera, the
# stronger the finer ones (u_fine, 0..1), so that one spacing grows into the next.
GROUND_FRAGMENT = """
uniform vec3 u_line;
uniform vec4 u_surface;
uniform vec2 u_shift;
uniform float u_spacing;
uniform float u_fine;
uniform float u_strength;
uniform float u_pixels;
varying vec2 v_plane;
varying vec2 v_local;
float lines(vec2 at, float spacing, float pixels) {
    vec2 cell = at / spacing;
    vec2 wide = fwidth(cell);
    vec2 away = abs(fract(cell - 0.5) - 0.5) / max(wide, vec2(1e-6));
    vec2 hit = 1.0 - smoothstep(0.5 * pixels - 0.5, 0.5 * pixels + 0.5, away);
    // A line can't be thinner than the distance between lines: fade instead.
    vec2 dense = 1.0 - smoothstep(0.2, 0.55, wide);
    return max(hit.x * dense.x, hit.y * dense.y);
}
void main() {
    float far = 1.0 - smoothstep(0.10, 1.0, length(v_local));
    vec2 at = v_plane + u_shift;
    float line = 0.4 * u_fine * lines(at, u_spacing, u_pixels);
    line = max(line, (0.4 + 0.6 * u_fine) * lines(at, 10.0 * u_spacing, u_pixels));
    line = max(line, lines(at, 100.0 * u_spacing, u_pixels));
    line *= u_strength * far * far;
    float surface = u_surface.a * far;
    float alpha = line + surface * (1.0 - line);
    vec3 colour = mix(u_surface.rgb, u_line, line / max(alpha, 1e-4));
    gl_FragColor = vec4(colour, alpha);
}
"""

# A rounded line between two points, widened in the picture. Everything after the
# projection is done in pixels, and depth is kept.
STROKE_VERTEX = """
uniform mat4 u_clip;
uniform vec2 u_size;
uniform float u_scale;
uniform float u_nearest;
attribute vec3 a_start;
attribute vec3 a_end;
attribute vec4 a_start_colour;
attribute vec4 a_end_colour;
attribute vec2 a_widths;
attribute vec2 a_corner;
varying vec2 v_at;
varying float v_length;
varying vec2 v_radii;
varying vec4 v_start_colour;
varying vec4 v_end_colour;
vec4 in_front(vec4 point, vec4 other) {
    if (point.w >= u_nearest || other.w < u_nearest) return point;
    return mix(point, other, (u_nearest - point.w) / (other.w - point.w));
}
void main() {
    vec4 start = u_clip * vec4(a_start, 1.0);
    vec4 end = u_clip * vec4(a_end, 1.0);
    if (start.w < u_nearest && end.w < u_nearest) {
        gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
        return;
    }
    vec4 s = in_front(start, end);
    vec4 e = in_front(end, start);
    vec2 from = 0.5 * u_size * s.xy / s.w;
    vec2 to = 0.5 * u_size * e.xy / e.w;
    float length_ = length(to - from);
    vec2 along = length_ > 1e-4 ? (to - from) / length_ : vec2(1.0, 0.0);
    vec2 across = vec2(-along.y, along.x);
    v_radii = 0.5 * u_scale * a_widths;
    float reach = max(v_radii.x, v_radii.y) + 1.0;
    bool at_end = a_corner.x > 0.0;
    vec2 pixel = at_end ? to : from;
    pixel += reach * (a_corner.x * along + a_corner.y * across);
    v_at = vec2(at_end ? length_ + reach : -reach, reach * a_corner.y);
    v_length = length_;
    v_start_colour = a_start_colour;
    v_end_colour = a_end_colour;
    vec4 near = at_end ? e : s;
    gl_Position = vec4(2.0 * pixel / u_size, near.z / near.w, 1.0);
}
"""

STROKE_FRAGMENT = """
uniform float u_alpha;
varying vec2 v_at;
varying float v_length;
varying vec2 v_radii;
varying vec4 v_start_colour;
varying vec4 v_end_colour;
void main() {
    float part = v_length > 1e-4 ? clamp(v_at.x / v_length, 0.0, 1.0) : 0.0;
    float radius = mix(v_radii.x, v_radii.y, part);
    float away = length(vec2(v_at.x - part * v_length, v_at.y)) - radius;
    // An arrow's head begins with a straight edge, not a round one.
    if (v_radii.y == 0.0) away = max(away, -v_at.x);
    float hit = 1.0 - smoothstep(-0.5, 0.5, away);
    if (hit <= 0.0) discard;
    vec4 colour = mix(v_start_colour, v_end_colour, part);
    gl_FragColor = vec4(colour.rgb, colour.a * hit * u_alpha);
}
"""
