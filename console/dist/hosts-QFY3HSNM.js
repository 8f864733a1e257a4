import{g as s}from"./chunk-RLH3V6A7.js";function t({route:o}){return s("h1",{children:["Hosts",o.id&&`: ${o.id}`]})}export{t as default};
